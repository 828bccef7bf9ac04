"""Connect four solved exactly: alpha-beta search from any position, and a table of openings.

The search is the well-known one on bitboards (Tromp's Fhourstones, 2008; Pons, "Solving Connect
4", 2015): moves that lose at once are left out, moves that make more threats come first, a table
keeps bounds, and windows of width one close in on the score. With numba it visits seven million
positions a second. All moves of a position of nine plies take a second, those of 14 plies less than
a tenth of one. Openings are looked up.
"""

import importlib.resources

import jax
import numpy as np
from azjax_envs.connect_four import ConnectFour, ConnectFourState
from numba import njit

U = np.uint64

_BOUNDS = 8_388_593  # of the table, 64 MB; a prime, so that places differ
_UPPER, _LOWER = 50, 150  # added to a bound in the table, which shows its kind
_OPENING = "connect_four_8_plies.npz"
_OPENING_PLIES = 8


class ConnectFourSolver:
    """Exact scores of all moves in any position of connect four, four in a row.

    A score is 0 for a draw. A win is positive and counts the discs that the winner has left when he
    wins, with the winning one: quick wins score more. A loss is the negative of the winner's score.
    One solver computes at a time: its table is overwritten by each search.
    """

    def __init__(self, game: ConnectFour) -> None:
        """Allocates the table of bounds, and reads the openings of the usual board.

        Raises:
          ValueError: the game does not connect four, or its columns with a bit above each need over
          56 bits.
        """
        if game.connect != 4 or (game.rows + 1) * game.columns > 56:
            raise ValueError(f"{game.name} does not fit: 4 must connect, in 56 bits")
        self.game = game
        self._lane = game.rows + 1
        self._cells = game.rows * game.columns
        one_column = (1 << game.rows) - 1
        places = [column * self._lane for column in range(game.columns)]
        self._board = np.array(
            [sum(one_column << place for place in places), sum(1 << place for place in places)], U
        )
        middle = sorted(places, key=lambda place: abs(2 * place - places[-1]))
        self._columns = np.array([one_column << place for place in places], U)
        # The columns of the middle are tried first.
        order = np.array([one_column << place for place in middle], U)
        moves = np.zeros((self._cells + 1, game.columns), U)
        working = (np.zeros(_BOUNDS, U), order, moves, np.zeros(moves.shape, np.int64))
        self._tables = (self._board, self._lane, self._cells, *working)
        self._openings = _Openings(self) if game == ConnectFour() else None

    def action_scores(self, states: ConnectFourState) -> np.ndarray:
        """Returns the scores of all actions, see `Scorer`."""
        own, taken = self.bitboards(states)
        scores = [self._scores(*position) for position in zip(own, taken, strict=True)]
        return np.array(scores, np.float32).reshape(-1, self.game.columns)

    def plies_left(self, states: ConnectFourState, scores: np.ndarray) -> np.ndarray:
        """Returns the plies to the end after each move, itself included, int32 [P, columns].

        `scores` are those of `action_scores`. It is 0 for draws and illegal moves.
        """
        _, taken = self.bitboards(states)
        played = np.array([int(x).bit_count() for x in taken])[:, None]
        scores = np.asarray(scores)
        decided = np.isfinite(scores) & (scores != 0)
        size = np.abs(np.where(decided, scores, 1)).astype(np.int32)
        # The first player has an odd number of discs on the board after its moves.
        first_wins = (played % 2 == 0) == (scores > 0)
        last = self._cells + self._cells % 2 - 2 * (size - 1)
        end = np.where(first_wins, last - 1, last)
        return np.where(decided, end - played, 0).astype(np.int32)

    def bitboards(self, states: ConnectFourState) -> tuple[np.ndarray, np.ndarray]:
        """Returns the mover's discs and all discs of states [P, ...], uint64 [P] each.

        A column has `rows + 1` bits, from the bottom up; the highest is clear.
        """
        planes = np.asarray(jax.vmap(self.game.observe)(states)) > 0  # [P, rows, columns, 2]
        by_column = planes[:, ::-1].swapaxes(1, 2).astype(U)
        bits = self._lane * np.arange(self.game.columns)[:, None] + np.arange(self.game.rows)
        own, other = np.moveaxis((by_column << bits.astype(U)[..., None]).sum((1, 2)), -1, 0)
        return own, own | other

    def _scores(self, own: np.uint64, taken: np.uint64) -> list[float]:
        plies = int(taken).bit_count()
        legal = (taken + self._board[1]) & self._board[0]
        scores = []
        for column in self._columns:
            disc = legal & column
            if not disc:
                scores.append(-np.inf)
            elif disc & _winning_cells(own, taken, self._board[0], self._lane):
                scores.append(float((self._cells + 1 - plies) // 2))
            elif self._openings is not None and plies < _OPENING_PLIES:
                scores.append(float(-self._openings.score(own ^ taken, taken | disc, plies + 1)))
            else:
                scores.append(float(-self._score(own ^ taken, taken | disc, plies + 1)))
        return scores

    def _score(self, own: np.uint64, taken: np.uint64, plies: int) -> int:
        """Returns the score of a position that is not won yet."""
        low, high = -((self._cells - plies) // 2), (self._cells + 1 - plies) // 2
        legal = (taken + self._board[1]) & self._board[0]
        if legal & _winning_cells(own, taken, self._board[0], self._lane):
            return high
        while low < high:
            # Whether it is won, lost or drawn first, then close to the result.
            middle = (low + high) // 2
            if middle <= 0 and low // 2 < middle:
                middle = -(-low // 2)
            elif middle >= 0 and high // 2 > middle:
                middle = high // 2
            if _negamax(own, taken, plies, middle, middle + 1, *self._tables) <= middle:
                high = middle
            else:
                low = middle + 1
        return low


class _Openings:
    """Scores of all positions with at most eight discs, of which none is won.

    A position and its mirror image are one: that with the smaller key. The mover's discs plus all
    discs are a key. The file has the scores of the positions with eight discs, in the order of
    their keys, as BitBully found them (Thill 2022, https://github.com/MarkusThill/BitBully). The
    tests solve a sample of them anew. The scores of shorter ones follow.
    """

    def __init__(self, solver: ConnectFourSolver) -> None:
        self._solver = solver
        empty = np.zeros(1, U)
        layers = [(empty, empty)]
        for _ in range(_OPENING_PLIES):
            moves = [self._play(*layers[-1], column) for column in solver._columns]
            children = [(own[goes_on], taken[goes_on]) for goes_on, _, own, taken in moves]
            own, taken = (np.concatenate(side) for side in zip(*children, strict=True))
            _, first = np.unique(own + taken, return_index=True)
            layers.append((own[first], taken[first]))
        file = importlib.resources.files("azjax.exact") / "data" / _OPENING
        with file.open("rb") as stream, np.load(stream) as data:
            scores = data["scores"].astype(np.int64)
        own, taken = layers[-1]
        self._layers = [(own + taken, scores)]
        for plies in reversed(range(_OPENING_PLIES)):
            own, taken = layers[plies]
            best = np.full(len(own), -100)
            for column in solver._columns:
                goes_on, wins, *after = self._play(own, taken, column)
                best[wins] = (solver._cells + 1 - plies) // 2
                rows = np.flatnonzero(goes_on)
                keys, later = self._layers[0]
                found = -later[np.searchsorted(keys, sum(after)[rows])]
                best[rows] = np.maximum(best[rows], found)
            self._layers.insert(0, (own + taken, best))

    def score(self, own: np.uint64, taken: np.uint64, plies: int) -> int:
        """Returns the score of a position with `plies` discs."""
        keys, scores = self._layers[plies]
        key = self._canonical(np.array([own]), np.array([taken]))
        return int(scores[np.searchsorted(keys, key[0] + key[1])[0]])

    def _play(
        self, own: np.ndarray, taken: np.ndarray, column: np.uint64
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Returns where a move is legal and does not win, where it wins, and what it leads to."""
        board = self._solver._board
        discs = (taken + board[1]) & column
        wins = (discs & _winning_cells(own, taken, board[0], self._solver._lane)) > 0
        return (discs > 0) & ~wins, wins, *self._canonical(own ^ taken, taken | discs)

    def _canonical(self, own: np.ndarray, taken: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns each position or its mirror image, whichever has the smaller key."""
        mirrored = self._mirror(own), self._mirror(taken)
        keep = own + taken <= mirrored[0] + mirrored[1]
        return np.where(keep, own, mirrored[0]), np.where(keep, taken, mirrored[1])

    def _mirror(self, discs: np.ndarray) -> np.ndarray:
        lane, last = self._solver._lane, self._solver.game.columns - 1
        of_column = U((1 << lane) - 1)
        mirrored = np.zeros_like(discs)
        for column in range(last + 1):
            lane_of_column = discs >> U(lane * column) & of_column
            mirrored |= lane_of_column << U(lane * (last - column))
        return mirrored


@njit
def _winning_cells(own, taken, board, lane):
    """Returns the free cells in which a disc would complete four in a row."""
    cells = (own << U(1)) & (own << U(2)) & (own << U(3))
    for direction in range(lane - 1, lane + 2):
        step = U(direction)
        pair = (own << step) & (own << (step + step))
        cells |= pair & ((own << (step + step + step)) | (own >> step))
        pair = (own >> step) & (own >> (step + step))
        cells |= pair & ((own >> (step + step + step)) | (own << step))
    return cells & (board ^ taken)


@njit
def _count(bits):
    bits -= (bits >> U(1)) & U(0x5555555555555555)
    bits = (bits & U(0x3333333333333333)) + ((bits >> U(2)) & U(0x3333333333333333))
    bits = (bits + (bits >> U(4))) & U(0x0F0F0F0F0F0F0F0F)
    return np.int64((bits * U(0x0101010101010101)) >> U(56))


@njit(
    "int64(uint64, uint64, int64, int64, int64, uint64[:], int64, int64, uint64[:], uint64[:],"
    " uint64[:, :], int64[:, :])"
)
def _negamax(own, taken, plies, alpha, beta, board, lane, cells, bounds, order, moves, threats):
    """Returns a score of at least `beta`, one of at most `alpha`, or the exact one between them.

    Args:
      own: discs of the player to move, who cannot win at once; `taken` are all discs.
      board: all cells, and the lowest of each column.
      bounds: the table. An entry is a key, shifted by 8 bits, and a bound of its score.
      order: the columns, in the order in which they are tried.
      moves: room for the moves of each ply, as `threats` for the winning cells that each makes.
    """
    other = own ^ taken
    legal = (taken + board[1]) & board[0]
    dangers = _winning_cells(other, taken, board[0], lane)
    lost = -((cells - plies) // 2)
    forced = legal & dangers
    if forced:
        if forced & (forced - U(1)):
            return lost
        legal = forced
    legal &= ~(dangers >> U(1))  # a disc below such a cell lets the opponent win
    if legal == U(0):
        return lost
    if plies >= cells - 2:
        return 0
    alpha = max(alpha, lost + 1)
    beta = min(beta, (cells - 1 - plies) // 2)
    if alpha >= beta:
        return alpha
    key = own + taken
    place = np.int64(key % U(len(bounds)))
    entry = bounds[place]
    if (entry >> U(8)) == key:
        bound = np.int64(entry & U(255))
        if bound >= _LOWER - 50:
            alpha = max(alpha, bound - _LOWER)
        else:
            beta = min(beta, bound - _UPPER)
        if alpha >= beta:
            return alpha
    count = 0
    for column in order:
        disc = legal & column
        if disc:
            made = _count(_winning_cells(own | disc, taken | disc, board[0], lane))
            i = count
            while i > 0 and threats[plies, i - 1] < made:
                threats[plies, i] = threats[plies, i - 1]
                moves[plies, i] = moves[plies, i - 1]
                i -= 1
            threats[plies, i] = made
            moves[plies, i] = disc
            count += 1
    for i in range(count):
        after = taken | moves[plies, i]
        score = -_negamax(
            other,
            after,
            plies + 1,
            -beta,
            -alpha,
            board,
            lane,
            cells,
            bounds,
            order,
            moves,
            threats,
        )
        if score >= beta:
            bounds[place] = (key << U(8)) | U(score + _LOWER)
            return score
        alpha = max(alpha, score)
    bounds[place] = (key << U(8)) | U(alpha + _UPPER)
    return alpha

"""Referees: python-chess for chess, Fairy-Stockfish for Gardner's chess."""

from collections import Counter

import chess
import pyffish

from tests.oracles.chess_batches import action_of


class ChessReferee:
    """A game of chess, refereed by python-chess."""

    size, max_steps = 8, 512

    def __init__(self, fen=chess.STARTING_FEN):
        self.board = chess.Board(fen)
        self.plies = 0
        self.met = set()  # the rare rules that have applied
        self._seen = Counter([self._position()])

    @property
    def is_white(self):
        return self.board.turn

    def moves(self):
        return list(self.board.legal_moves)

    def action(self, move):
        return action_of(move.uci(), self.board.turn, 8)

    def push(self, move):
        self.met |= set(_kinds(self.board, move))
        self.board.push(move)
        self.plies += 1
        if self.board.halfmove_clock == 0:
            self._seen.clear()
        self._seen[self._position()] += 1

    def occurrences(self):
        return self._seen[self._position()]

    def result(self, moves):
        """Returns White's result, or None while the game continues."""
        board = self.board
        repeated = self.occurrences() >= 3
        if self.occurrences() > 1:
            assert board.is_repetition(3) == repeated
        if not moves:
            self.met |= {"mate" if board.is_check() else "stalemate"}
            if board.is_check():
                self.met |= {"mate on move 100"} if board.halfmove_clock >= 100 else set()
                return -1 if board.turn else 1
            return 0
        ends = {
            "insufficient material": board.is_insufficient_material(),
            "repetition": repeated,
            "clock": board.halfmove_clock >= 100,
            "cut": self.plies >= self.max_steps,
        }
        self.met |= {name for name, drawn in ends.items() if drawn}
        return 0 if any(ends.values()) else None

    def assert_agrees(self, state):
        """Asserts that board, rights, en passant, clock and plies are those of a `ChessState`."""
        board = self.board
        sides = [board.occupied_co[board.turn], board.pawns, board.knights]
        sides += [board.bishops | board.queens, board.rooks | board.queens, board.kings]
        # python-chess counts squares from White's first rank, a state from the opposite one.
        order = "big" if board.turn else "little"
        assert [int.from_bytes(w.astype("<u4").tobytes(), order) for w in state.pieces] == sides
        rights = [
            right(color)
            for color in (board.turn, not board.turn)
            for right in (board.has_kingside_castling_rights, board.has_queenside_castling_rights)
        ]
        assert int(state.castling) == sum(1 << i for i, right in enumerate(rights) if right)
        passed = 64
        if board.has_legal_en_passant():
            passed = board.ep_square ^ (56 if board.turn else 0)
        assert int(state.passed) == passed
        assert int(state.clock) == board.halfmove_clock
        assert int(state.ply) == 2 * board.fullmove_number - 2 + (not board.turn)
        assert bool(state.check) == board.is_check()

    def fen(self):
        return self.board.fen(en_passant="legal")

    def resets(self, move):
        """Returns whether a move sets the clock to 0."""
        return self.board.is_zeroing(move)

    def danger(self, move):
        """Returns how close to its end a move brings the game.

        9 is the end; otherwise it is the number of occurrences of the position after the move.
        """
        self.board.push(move)
        ends = not any(self.board.legal_moves) or self.board.is_insufficient_material()
        times = self.occurrences()
        self.board.pop()
        return 9 if ends else times

    def back(self):
        """Returns the move that takes the player's own last move back."""
        last = self.board.move_stack[-2]
        return chess.Move(last.to_square, last.from_square)

    def clock(self):
        return self.board.halfmove_clock

    def _position(self):
        """Returns what identifies a position by the rules of FIDE."""
        board = self.board
        return (
            *(board.pawns, board.knights, board.bishops, board.rooks, board.queens, board.kings),
            *(board.occupied_co[True], board.turn, board.clean_castling_rights()),
            board.ep_square if board.has_legal_en_passant() else None,
        )


def _kinds(board, move):
    """Yields the rare rules that apply to a move."""
    if board.is_castling(move):
        yield f"castling {'K' if board.is_kingside_castling(move) else 'Q'}{int(board.turn)}"
    if board.is_en_passant(move):
        yield f"en passant {int(board.turn)}"
    if move.promotion:
        yield f"promotion {chess.piece_symbol(move.promotion)}{int(board.turn)}"


class GardnerReferee:
    """A game of Gardner's chess, refereed by Fairy-Stockfish, including its draws.

    A call of pyffish takes more than a millisecond, so no call is repeated.
    """

    size, max_steps = 5, 256

    def __init__(self, fen=None):
        self.start = self._now = fen or pyffish.start_fen("gardner")
        self.line = []
        self.met = set()
        self._seen = Counter([_placement(self._now)])

    @property
    def plies(self):
        return len(self.line)

    @property
    def is_white(self):
        return self._now.split()[1] == "w"

    def moves(self):
        return pyffish.legal_moves("gardner", self._now, [])

    def action(self, move):
        return action_of(move, self.is_white, 5)

    def push(self, move):
        if move[4:]:
            self.met.add(f"promotion {move[4:]}{int(self.is_white)}")
        self.line.append(move)
        self._now = _after(self._now, move)
        self._seen[_placement(self._now)] += 1

    def result(self, moves):
        """Returns White's result, or None while the game continues."""
        if not moves:
            mated = pyffish.gives_check("gardner", self._now, [])
            self.met.add("mate" if mated else "stalemate")
            return (-1 if self.is_white else 1) if mated else 0
        drawn, value = pyffish.is_optional_game_end("gardner", self.start, self.line)
        if drawn:
            assert value == 0
            self.met.add("clock" if self.clock() >= 100 else "repetition")
        dead = _is_dead(self._now)
        self.met |= {"insufficient material"} if dead else set()
        self.met |= {"cut"} if self.plies >= self.max_steps else set()
        return 0 if dead or drawn or self.plies >= self.max_steps else None

    def assert_agrees(self, state):
        pass  # its FEN is the whole position

    def fen(self):
        return self._now

    def resets(self, move):
        """Returns whether a move sets the clock to 0."""
        rows = self._now.split()[0].split("/")
        grid = ["".join("." * int(c) if c.isdigit() else c for c in row) for row in rows]
        start, target = (grid[5 - int(name[1])]["abcde".index(name[0])] for name in _ends(move))
        return start in "Pp" or target != "."

    def danger(self, move):
        """Returns how close to its end a move brings the game; see `ChessReferee.danger`."""
        after = _after(self._now, move)
        ends = _is_dead(after) or not pyffish.legal_moves("gardner", after, [])
        return 9 if ends else self._seen[_placement(after)]

    def back(self):
        """Returns the move that takes the player's own last move back."""
        return "".join(reversed(_ends(self.line[-2])))

    def clock(self):
        return int(self._now.split()[4])


def _after(fen, move):
    return pyffish.get_fen("gardner", fen, [move])


def _ends(move):
    return move[:2], move[2:4]


def _placement(fen):
    return tuple(fen.split()[:2])


def _is_dead(fen):
    if set(fen.split()[0]) & set("PpRrQq"):
        return False
    return all(pyffish.has_insufficient_material("gardner", fen, []))

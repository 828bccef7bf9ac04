"""Kalah in plain Python, independent of azjax: the rules, one seed at a time, and alpha-beta."""

Side = tuple[int, ...]  # the pits from their owner's left, then the store


def start(pits: int, seeds: int) -> tuple[Side, Side]:
    return (seeds,) * pits + (0,), (seeds,) * pits + (0,)


def play(own: Side, other: Side, pit: int, *, empty_capture: bool) -> tuple[Side, Side, bool]:
    """Returns both sides after `own` empties `pit`, and whether its owner moves again."""
    sides = [list(own), list(other)]
    pits = len(own) - 1
    seeds, sides[0][pit] = sides[0][pit], 0
    side, hole = 0, pit
    while seeds:
        hole += 1
        if hole > pits or (side == 1 and hole == pits):
            side, hole = 1 - side, 0
        sides[side][hole] += 1
        seeds -= 1
    again = side == 0 and hole == pits
    if side == 0 and hole < pits and sides[0][hole] == 1:
        opposite = pits - 1 - hole
        if sides[1][opposite] or empty_capture:
            sides[0][pits] += 1 + sides[1][opposite]
            sides[0][hole] = sides[1][opposite] = 0
    if not any(sides[0][:pits]) or not any(sides[1][:pits]):
        sides = [[0] * pits + [sum(each)] for each in sides]
    return tuple(sides[0]), tuple(sides[1]), again


def is_over(own: Side) -> bool:
    return not any(own[:-1])


class Solver:
    """A solver of margins under best play. Its table ignores stores, which do not affect play."""

    def __init__(self, *, empty_capture: bool):
        self.empty_capture = empty_capture
        self._bounds: dict[tuple[Side, Side], tuple[int, int]] = {}

    def margin(self, own: Side, other: Side) -> int:
        """Returns the mover's seeds minus the opponent's at the end."""
        seeds = sum(own[:-1]) + sum(other[:-1])
        return own[-1] - other[-1] + self._search(own[:-1], other[:-1], -seeds, seeds)

    def _search(self, own: Side, other: Side, low: int, high: int) -> int:
        """Returns the mover's gain from here on, or a bound on it outside low..high."""
        key = own, other
        least, most = self._bounds.get(key, (-10000, 10000))
        low, high = max(low, least), min(high, most)
        if low >= high:
            return low
        best, floor = -10000, low
        for after, again, gain in self._moves(own, other):
            if is_over(after[0]):
                value = gain
            elif again:
                value = gain + self._search(after[0][:-1], after[1][:-1], low - gain, high - gain)
            else:
                value = gain - self._search(after[1][:-1], after[0][:-1], gain - high, gain - low)
            best, low = max(best, value), max(low, value)
            if low >= high:
                break
        if best <= floor:
            most = best
        elif best >= high:
            least = best
        else:
            least = most = best
        self._bounds[key] = least, most
        return best

    def _moves(self, own: Side, other: Side):
        """Returns (sides after, moves again, seeds gained) of each move, the best gains first."""
        moves = []
        for pit in range(len(own)):
            if own[pit]:
                left, right, again = play(
                    (*own, 0), (*other, 0), pit, empty_capture=self.empty_capture
                )
                moves.append(((left, right), again, left[-1] - right[-1]))
        return sorted(moves, key=lambda move: (-move[1], -move[2]))

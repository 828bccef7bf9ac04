"""Plain minimax over OpenSpiel's states, independent of this project's rules and solver."""

import pyspiel


class Minimax:
    """A solver of player 0's value in an OpenSpiel game, which searches each position once."""

    def __init__(self, game: str):
        self.game = pyspiel.load_game(game)
        self._known: dict[str, float] = {}

    def start(self) -> pyspiel.State:
        return self.game.new_initial_state()

    def value(self, state: pyspiel.State) -> float:
        if state.is_terminal():
            return state.returns()[0]
        key = f"{state.current_player()}{state}"
        if key not in self._known:
            values = [self.value(state.child(action)) for action in state.legal_actions()]
            best = max if state.current_player() == 0 else min
            self._known[key] = best(values)
        return self._known[key]

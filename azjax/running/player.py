"""The player of a training state."""

from azjax.players.network_players import SearchPlayer, player_search_config
from azjax.sharding import local
from azjax.training import Trainer, TrainState


def trained_player(
    trainer: Trainer, state: TrainState, *, simulations: int | None = None
) -> SearchPlayer:
    """Returns the player of a training state, on this process's first device.

    Its arrays are lost when the next cycle takes the state, so play before that. By default it has
    the number of simulations of the run's evaluations.
    """
    return SearchPlayer(
        game=trainer.game,
        network=trainer.network,
        variables=local(state.acting),
        config=player_search_config(trainer.config.player, simulations),
        search=trainer.search,
    )

"""The command `web`, and `play --web`."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from azjax.cli.arguments import PlayerArgument, parse
from azjax.errors import UserError

if TYPE_CHECKING:
    from azjax.players.network_players import SearchPlayer


def web(arguments: list[str]) -> None:
    """Write a page that plays in any browser: azjax web runs/connect_four --out site

    Before anything is written, the page's model plays random games and is compared with JAX.
    """

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: PlayerArgument
        """The player, as in `azjax eval`: RUN, RUN:SIMULATIONS, RUN@best, or a file."""
        out: Path
        """The folder to write, or the file with --single-file."""
        single_file: bool = False
        """Write one HTML file, which a browser opens without a web server."""
        runtime: Path | None = None
        """The folder dist of npm's onnxruntime-web; fetched by npm if left out."""
        games: int = 50
        """Number of these random games; fewer if they take more than a minute."""
        seed: int = 0
        """Seed of these games."""
        trust: bool = False
        """Let a player's file import its own game, if it names one. This can run any code."""

    options = parse(web, Arguments, arguments, "web")
    if options.games < 1:
        raise UserError(f"--games {options.games}: must be at least 1")
    from azjax.web.site import write_site

    player = load_search_player(options.run, trust=options.trust)
    check = write_site(
        player,
        options.out,
        about=_about(player),
        single_file=options.single_file,
        runtime=options.runtime,
        games=options.games,
        seed=options.seed,
    )
    print(
        f"{player.game.name}: the model agrees with JAX in {check.positions:,} positions of "
        f"{check.games} random games (largest difference {check.error:.1e}); "
        f"{check.milliseconds:.2f} ms per evaluation in onnxruntime"
    )
    print(_how_to_open(options.out, options.single_file))


def serve(run: str, *, port: int | None, browser: bool, trust: bool = False) -> None:
    """Serves the page of `azjax play RUN --web` until Ctrl-C."""
    from azjax.web.server import serve

    player = load_search_player(run, trust=trust)
    serve(player, about=_about(player), port=port, browser=browser, announce=_announce)


def load_search_player(run: str, *, trust: bool = False) -> "SearchPlayer":
    """Returns the player with a search that a spec names.

    Raises:
      UserError: there is no such player, or it does not search.
    """
    from azjax.players.load import load_player
    from azjax.players.network_players import SearchPlayer

    player = load_player(run, trust=trust)
    if not isinstance(player, SearchPlayer):
        raise UserError(f"{run}: must be a player with a search: RUN or RUN:SIMULATIONS")
    return player


def _about(player: "SearchPlayer") -> str:
    """Returns a line about the player, for its page."""
    network = player.network.config
    kind = "residual network" if network.architecture == "resnet" else "dense network"
    return f"AlphaZero: a {kind} of {network.blocks} x {network.channels}, trained by azjax"


def _announce(text: str) -> None:
    print(text, flush=True)


def _how_to_open(out: Path, single_file: bool) -> str:
    size = sum(f.stat().st_size for f in ([out] if single_file else out.iterdir())) / 1e6
    if single_file:
        return f"{out} ({size:.1f} MB): open it in a browser"
    return f"{out} ({size:.1f} MB): put it on any web server, or: python3 -m http.server -d {out}"

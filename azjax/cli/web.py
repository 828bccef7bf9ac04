"""Commands for playing in a browser."""

import dataclasses
from pathlib import Path

import tyro

from azjax.cli.arguments import parse
from azjax.errors import UserError


def web(arguments: list[str]) -> None:
    """Write a page that plays in any browser: azjax web runs/connect_four --out site"""

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        run: tyro.conf.Positional[str]
        """Who plays: RUN, RUN@best or RUN@CYCLE, each also as ...:SIMULATIONS; or a game that a
        player comes with azjax for, such as connect_four."""
        out: Path
        """The folder to write; with --single-file the file."""
        single_file: bool = False
        """One HTML file, which opens from a disk."""
        runtime: Path | None = None
        """The folder dist of npm's onnxruntime-web; fetched by npm if left out."""
        games: int = 50
        """Random games by which the page's model is checked before; fewer if they take more than
        a minute."""
        seed: int = 0
        """Seed of these games."""

    options = parse(web, Arguments, arguments, "web")
    if options.games < 1:
        raise UserError(f"--games {options.games}: at least 1 is wanted")
    from azjax.web.site import write_site

    player = search_player(options.run)
    check = write_site(
        player,
        options.out,
        about=about(player),
        single_file=options.single_file,
        runtime=options.runtime,
        games=options.games,
        seed=options.seed,
    )
    print(
        f"{player.game.name}: the model agrees with JAX in {check.positions:,} positions of "
        f"{check.games} random games (largest difference {check.error:.1e}); "
        f"{check.milliseconds:.2f} ms an evaluation in onnxruntime"
    )
    print(_what_now(options.out, options.single_file))


def serve(run: str, *, port: int | None, browser: bool) -> None:
    """`azjax play RUN --web`."""
    from azjax.web.server import serve

    player = search_player(run)
    serve(player, about=about(player), port=port, browser=browser)


def search_player(run: str):
    """The player with search that a spec names.

    Raises:
      UserError: there is none, or it is one without search.
    """
    from azjax.players.load import player_from_spec
    from azjax.players.network_players import SearchPlayer

    player = player_from_spec(run)
    if not isinstance(player, SearchPlayer):
        raise UserError(f"{run}: a page searches; RUN or RUN:SIMULATIONS is wanted")
    return player


def about(player) -> str:
    """A line about the player, for its page."""
    network = player.network.config
    kind = "residual network" if network.architecture == "resnet" else "dense network"
    return f"AlphaZero: a {kind} of {network.blocks} x {network.channels}, trained by azjax"


def _what_now(out: Path, single_file: bool) -> str:
    size = sum(f.stat().st_size for f in ([out] if single_file else out.iterdir())) / 1e6
    if single_file:
        return f"{out} ({size:.1f} MB) opens in a browser as it is"
    return f"{out} ({size:.1f} MB) is for any web server; here: python3 -m http.server -d {out}"

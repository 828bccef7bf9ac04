"""The command `web`, and `play --web`."""

import dataclasses
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from azjax.cli.arguments import PlayerArgument, TrustOption, parse
from azjax.errors import UserError

if TYPE_CHECKING:
    from azjax.players.network_players import SearchPlayer
    from azjax.web.verify import Check

PERFECT = "Perfect play, which knows the result of every move"
"""About the player of a page without a network."""


def web(arguments: list[str]) -> None:
    """Write a page that plays in any browser: azjax web runs/connect_four --out site

    With --all it is a gallery of the players that come with azjax, a page each. Before anything is
    written, each page's model plays random games and is compared with JAX. It needs
    pip install "azjax[web]", and npm or --runtime.
    """

    @dataclasses.dataclass(frozen=True)
    class Arguments:
        out: Path
        """The folder to write, or the file with --single-file."""
        run: PlayerArgument = ""
        """The player, as in `azjax eval`: RUN, RUN:SIMULATIONS, RUN@best, or a file."""
        all: bool = False
        """Write a gallery of all players that come with azjax, instead of one player's page."""
        single_file: bool = False
        """Write one HTML file, which a browser opens without a web server."""
        runtime: Path | None = None
        """The folder dist of npm's onnxruntime-web; fetched by npm if left out."""
        games: int = 50
        """Number of these random games; fewer if they take more than a minute."""
        seed: int = 0
        """Seed of these games."""
        trust: TrustOption = False

    options = parse(web, Arguments, arguments, "web")
    if options.games < 1:
        raise UserError(f"--games {options.games}: must be at least 1")
    if bool(options.run) == options.all:
        raise UserError(
            "web: give one player, or --all for all that come with azjax, for example "
            "azjax web connect_four --out site"
        )
    if options.all and options.single_file:
        raise UserError("--all writes a folder; leave --single-file out")
    how: dict[str, Any] = {"runtime": options.runtime, "games": options.games, "seed": options.seed}
    from azjax.players.load import describe
    from azjax.players.weights_file import pretrained
    from azjax.web.site import write_gallery, write_site

    if options.all:
        players = {name: load_search_player(name) for name in pretrained()}
        about = {name: describe(name, in_short=True) for name in players}
        write_gallery(players, options.out, about=about, progress=_say_check, **how)
    else:
        player = load_search_player(options.run, trust=options.trust)
        about = _about(options.run, player, trust=options.trust)
        how["single_file"] = options.single_file
        _say_check(player.game.name, write_site(player, options.out, about=about, **how))
    print(_how_to_open(options.out))


def _say_check(name: str, check: "Check") -> None:
    print(
        f"{name}: the model agrees with JAX in {check.positions:,} positions of "
        f"{check.games} random games (largest difference {check.error:.1e}); "
        f"{check.milliseconds:.2f} ms per evaluation in onnxruntime",
        flush=True,
    )


def serve(
    run: str, *, port: int | None, browser: bool, trust: bool = False, game: str | None = None
) -> None:
    """Serves the page of `azjax play RUN --web` until Ctrl-C, and prints the player's card."""
    from azjax.games import game_from_name
    from azjax.players.exact import exact_player
    from azjax.players.load import describe
    from azjax.web.server import serve

    if run == "exact":
        if game is None:
            raise UserError("exact works for any game: name the game with --game")
        serve(
            exact_player(game_from_name(game)),
            about=PERFECT,
            port=port,
            browser=browser,
            announce=lambda text: print(text, flush=True),
        )
        return
    player = load_search_player(run, trust=trust)
    card = describe(run, trust=trust)

    def announce(text: str) -> None:
        print(text, flush=True)
        # Below the address, because programs that start the server find that in the second line.
        if card and text.startswith("play at "):
            print(card, flush=True)

    about = _about(run, player, trust=trust)
    serve(player, about=about, port=port, browser=browser, announce=announce)


def load_search_player(run: str, *, trust: bool = False) -> "SearchPlayer":
    """Returns the player with a search that a spec names.

    Raises:
      UserError: there is no such player, or it does not search.
    """
    from azjax.players.load import load_player, warn_on_stderr
    from azjax.players.network_players import SearchPlayer
    from azjax.players.spec import NetworkSpec, parse_spec

    if isinstance(parse_spec(run), NetworkSpec):
        player = load_player(run, trust=trust)
        if isinstance(player, SearchPlayer):
            if player.has_custom_search:
                warn_on_stderr(f"{run}: its own search is not used, as a page searches by azjax's")
            return player
    raise UserError(f"{run}: a page needs a network with a search: RUN or RUN:SIMULATIONS")


def _about(run: str, player: "SearchPlayer", *, trust: bool) -> str:
    """Returns lines for the player's page: its results if a file tells them, or its network."""
    from azjax.network import TwoHeadedNetwork
    from azjax.players.load import describe

    if results := describe(run, trust=trust, in_short=True):
        return results
    if not isinstance(player.network, TwoHeadedNetwork):
        return "AlphaZero: a network of its author, trained by azjax"
    network = player.network.config
    kind = "residual network" if network.architecture == "resnet" else "dense network"
    return f"AlphaZero: a {kind} of {network.blocks} x {network.channels}, trained by azjax"


def _how_to_open(out: Path) -> str:
    files = [out] if out.is_file() else [file for file in out.rglob("*") if file.is_file()]
    size = sum(file.stat().st_size for file in files) / 1e6
    if out.is_file():
        return f"{out} ({size:.1f} MB): open it in a browser"
    server = f"python3 -m http.server -d {quote(str(out))}"
    return f"{out} ({size:.1f} MB): put it on any web server, or: {server}"

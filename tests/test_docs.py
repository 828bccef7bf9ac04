"""The documentation names what exists: commands, options, settings, files and links."""

import dataclasses
import inspect
import re
import shlex
import tomllib
import types
from pathlib import Path

import jax
import pytest
import tyro
from azjax_envs import available_games, make

import azjax
from azjax.cli.main import COMMANDS
from azjax.config import Config
from azjax.players.weights_file import load_saved, pretrained
from azjax.search import Exploration, SearchResult
from docs import draw_boards, hooks

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += [ROOT / "benchmarks" / "README.md", ROOT / "envs" / "README.md"]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
SPEEDS = (DOCS / "performance.md").read_text()
SECTIONS = {field.name for field in dataclasses.fields(Config)}
each_page = pytest.mark.parametrize("page", PAGES, ids=NAMES)


def blocks(page, language):
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(), flags=re.DOTALL)


def prose(page):
    """Returns the page without its code blocks."""
    return re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)


COMMAND_LINES = sorted(
    {
        line
        for page in PAGES
        for block in blocks(page, "sh")
        for line in block.splitlines()
        if line.startswith("azjax ")
    }
)
SNIPPETS = [
    pytest.param(snippet, id=f"{page.stem}: {snippet.splitlines()[0]}")
    for page in sorted([*DOCS.glob("*.md"), *DOCS.glob("games/*.md")])
    for snippet in blocks(page, "python")
]


class ParsedError(Exception):
    """Raised in place of a command's work."""


@pytest.mark.parametrize("line", COMMAND_LINES)
def test_commands_parse(line, monkeypatch):
    name, *arguments = shlex.split(line, comments=True)[1:]
    parse = tyro.cli

    def stop(*args, **options):
        parse(*args, **options)
        raise ParsedError

    monkeypatch.setattr(tyro, "cli", stop)
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr("azjax.players.load.load_run_config", lambda run: Config())
    with pytest.raises(ParsedError):
        COMMANDS[name](arguments)


def test_make_targets_exist():
    makefile = (ROOT / "Makefile").read_text()
    for page in PAGES:
        for target in re.findall(r"^make ([\w-]+)", "".join(blocks(page, "sh")), re.MULTILINE):
            assert f"\n{target}:" in makefile, (page, target)


@each_page
def test_pip_is_used_in_an_environment(page):
    """Debian, Ubuntu and Homebrew refuse it elsewhere."""
    before, pip, _ = ("\n" + "".join(blocks(page, "sh"))).partition("\npip install")
    assert not pip or re.search(r"^(.* && )?\. \S+/bin/activate\b", before, re.MULTILINE)


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_python_snippets_run(snippet, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(snippet, "docs", "exec"), {})


def test_recipes_are_short_and_use_public_names():
    found = blocks(DOCS / "recipes.md", "python")
    assert len(found) == 6
    for recipe in found:
        assert len(recipe.splitlines()) < 40
        assert set(re.findall(r"\bazjax\.(\w+)", recipe)) <= set(azjax.__all__)
        assert "from azjax" not in recipe.replace("from azjax_envs", "")


def names_setting(path):
    """Returns whether a path such as search.gumbel.value_scale names a setting."""
    config = Config()
    for name in path.split("."):
        if not hasattr(config, name):
            return False
        config = getattr(config, name)
    return True


@each_page
def test_settings_exist(page):
    for text in re.findall(r"`([a-z_.]+)(?: = [^`]*)?`", prose(page)):
        if text.partition(".")[0] in SECTIONS and "." in text and not text.endswith(".toml"):
            assert names_setting(text), text
    for text in re.findall(r"`\[([a-z.]+)\]`", prose(page)):
        if text.partition(".")[0] in SECTIONS:
            assert names_setting(text), text


@each_page
def test_files_exist(page):
    roots = [ROOT, ROOT / "azjax", ROOT / "tests", ROOT / "envs" / "azjax_envs"]
    for name in re.findall(r"`((?!runs/|plots/|\d)(?:\w+/)+[\w.]*\w)`", prose(page)):
        assert any((root / name).exists() for root in [*roots, ROOT / "azjax/web"]), name
    for name in re.findall(r"configs/[\w/]+\.toml", page.read_text()):
        assert (ROOT / name).is_file(), name
    for name in re.findall(r"`([\w]+(?:_\d_cores?)(?:\.json)?)`", prose(page)):
        assert (ROOT / "benchmarks" / "results" / name).exists(), name


def anchors(page):
    """Returns the anchors of a page's headings, as GitHub and the site make them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)
    kept = [re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings]
    return {heading.replace(" ", "-") for heading in kept}


@each_page
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\((?!\w+:)([^)\s]+)\)", prose(page)):
        path, _, anchor = link.partition("#")
        target = (page.parent / path) if path else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1]
    for page in DOCS.rglob("*.md"):
        assert f" {page.relative_to(DOCS)}\n" in navigation, page


def test_the_map_is_short():
    assert len((DOCS / "architecture.md").read_text().split()) <= 1200


def test_nothing_names_an_owner():
    for page in [*PAGES, ROOT / "pyproject.toml", *(ROOT / "notebooks").glob("*.ipynb")]:
        assert "OWNER" not in page.read_text(), page


def test_every_player_is_listed_and_nobody_counts_them():
    """A number in prose is forgotten when a player is added."""
    table = (DOCS / "get-started.md").read_text().split("| game | players |")[1].split("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", table)) == set(pretrained())
    megabytes = [file.stat().st_size / 1e6 for file in pretrained().values()]
    sizes = re.search(
        r"has (.*) MB, and all .* less than (\d+) MB", (DOCS / "get-started.md").read_text()
    )
    assert sizes
    assert f"{max(megabytes):.1f}" == sizes[1]
    assert sum(megabytes) < float(sizes[2])
    counted = r"\b(\d+|\w+teen) (shipped players|players come)"
    assert not [page for page in PAGES if re.search(counted, page.read_text(), re.IGNORECASE)]


GAME_PAGES = sorted(set((DOCS / "games").glob("*.md")) - {DOCS / "games" / "index.md"})


def test_every_game_has_a_page():
    names = {page.stem for page in GAME_PAGES}
    assert names | {"mnk"} == set(available_games())  # gomoku's page has it
    index = (DOCS / "games" / "index.md").read_text()
    assert names == set(re.findall(r"\((\w+)\.md\)", index)) - {"index"}


def lines(text):
    """Returns the sentences of a player without capitals, and what it is weakest in."""
    found = [f"{line[:1].lower()}{line[1:]}".removesuffix(".") for line in text.splitlines()]
    if not found[-1].startswith("weakest: "):
        perfect = found[0].startswith("makes no mistake in any of ")
        found.append("nothing" if perfect else "not measured")
    training = found[-2].removeprefix("trained for ")
    return [*found[:-2], training, found[-1].removeprefix("weakest: ")]


def players_tables():
    """Returns the tables of the players that come with azjax, from their cards."""
    short = ["| player | strength | trained for |", "|---|---|---|"]
    long = ["| player | results | weakest |", "|---|---|---|"]
    for name, file in pretrained().items():
        (page,) = (p for p in GAME_PAGES if re.fullmatch(rf"{p.stem}(_\d+(x\d+)*)?", name))
        headline, strength, *_, training, weakest = lines(load_saved(file).describe("short"))
        short.append(f"| [`{name}`]({page.name}) | {headline} | {training} |")
        long.append(f"| `{name}` | {strength} | {weakest} |")
    return "\n".join([*short, *long])


def test_the_tables_of_players_equal_their_cards():
    index = (DOCS / "games" / "index.md").read_text()
    written = "\n".join(re.findall(r"^\|.*\|$", index, flags=re.MULTILINE))
    assert written == players_tables(), f"docs/games/index.md needs these:\n{players_tables()}"


@pytest.mark.parametrize("page", GAME_PAGES, ids=[page.stem for page in GAME_PAGES])
def test_figures_of_a_game(page):
    rows = dict(re.findall(r"^\| ([\w ]+) \| (.+) \|$", page.read_text(), flags=re.MULTILINE))
    game = make(page.stem)
    size = sum(x.nbytes for x in jax.tree.leaves(game.init()))
    assert rows["Actions"] == f"{game.num_actions:,}"
    assert rows["Observation"] == " x ".join(map(str, game.observation_shape))
    assert rows["Longest game"] == f"{game.max_steps:,} plies"
    assert rows["Symmetries"] == str(game.num_symmetries)
    move = draw_boards.POSITIONS[page.stem][1].split()[0]
    state, move = draw_boards.roll(game, game.init(), move)
    number = game.string_to_action(state, move)
    assert rows["First move"] == f"`{move}`, for example, is action {number:,}"
    index = (DOCS / "games" / "index.md").read_text()
    assert f"`{page.stem}`: " in index
    card = index.split(f"`{page.stem}`: ")[1]
    assert f"{game.num_actions:,} actions, at most {game.max_steps:,} plies" in card.split("- [")[0]
    assert rows["State"] == f"{size:,} bytes"
    speed = re.search(
        rf"^\| {page.stem}(?:_19x19)? (?:\(.*\) )?\| ([\d.]+ [kM]) ", SPEEDS, re.MULTILINE
    )
    assert rows["Steps a second"].startswith(speed[1])


@pytest.mark.parametrize("page", GAME_PAGES, ids=[page.stem for page in GAME_PAGES])
def test_tables_of_planes_name_every_plane_once(page):
    table = page.read_text().split("| planes | contents |")[1].split("\n\n")[0]
    planes = []
    for row in re.findall(r"^\| (\d+)(?: (?:to|and) (\d+))? \|", table, flags=re.MULTILINE):
        planes += range(int(row[0]), int(row[1] or row[0]) + 1)
    assert planes == list(range(make(page.stem).observation_shape[-1]))


@pytest.mark.parametrize("page", GAME_PAGES, ids=[page.stem for page in GAME_PAGES])
def test_pictures_show_the_games_own_drawing(page):
    name, moves = draw_boards.POSITIONS[page.stem]
    drawn = draw_boards.picture(name, moves).rstrip() + "\n"
    assert (DOCS / "images" / "games" / f"{page.stem}.svg").read_text() == drawn


@pytest.mark.parametrize(
    ("address", "nav"),
    [
        ("", ["index.md", "rest"]),
        ("https://a.io/b/", ["index.md", {"Play": "https://a.io/b/play/"}, "rest"]),
    ],
)
def test_the_published_site_links_to_the_gallery(address, nav):
    config = types.SimpleNamespace(site_url=address, nav=["index.md", "rest"])
    assert hooks.on_config(config).nav == nav


def page_of(name, section):
    parent = section and types.SimpleNamespace(title=section)
    return types.SimpleNamespace(file=types.SimpleNamespace(src_uri=name), parent=parent, meta={})


@pytest.mark.parametrize(
    ("name", "section", "options"),
    [
        ("train.md", "Use it", {"boost": 4}),
        ("index.md", None, {}),
        ("methods.md", "How it works", {}),
        ("reference/azjax.md", "Reference", {"boost": 0.2}),
        ("reference/learning.md", "Reference", {"exclude": True}),
    ],
)
def test_a_search_finds_guides_first_and_no_internals(name, section, options):
    page = page_of(name, section)
    hooks.on_page_markdown("", page, types.SimpleNamespace(repo_url=""), None)
    assert page.meta["search"] == options


def test_the_searchs_pages_exist():
    navigation = (ROOT / "mkdocs.yml").read_text().split("\nnav:\n")[1]
    assert f"- {hooks.GUIDES}:" in navigation
    assert all((DOCS / "reference" / f"{name}.md").is_file() for name in hooks.SEARCHED)


@pytest.mark.parametrize(
    "kind",
    [azjax.Progress, azjax.Prediction, azjax.Batch, azjax.TrainState, SearchResult, Exploration],
)
def test_the_reference_tells_about_fields(kind):
    told = hooks.describe_fields(inspect.getsource(kind))
    documented = set(re.findall(r'^    (\w+): .*\n    """', inspect.getsource(kind), re.MULTILINE))
    names = getattr(kind, "_fields", None) or [field.name for field in dataclasses.fields(kind)]
    assert set(told) | documented == set(names)
    assert all(told.values())


def test_signatures_have_a_formatter():
    """Without ruff or black, mkdocstrings cuts them off."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert any(each.startswith("ruff") for each in extras["optional-dependencies"]["docs"])

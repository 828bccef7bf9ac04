"""Build hooks of the site: texts from elsewhere in the repository, and links that leave `docs`.

A page `<!-- include: CONTRIBUTING.md -->` is that file. In the repository every link works as it
is. On the site, a link to a file that is no page leads to the repository's own page of the file
where the repository's address is known (REPO_URL), and becomes plain text where it is not.
"""

import ast
import io
import posixpath
import re
import textwrap
import tokenize
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
INCLUDE = re.compile(r"<!-- include: (\S+) -->\n?")
GUIDES = "Use it"  # the section of the navigation that a search shows first
SEARCHED = ("azjax", "config", "games")  # of the reference; the other pages are internals
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+:|#)([^)\s]+)\)")


def on_config(config: Any) -> Any:
    """Adds a link to the gallery of players, which only the published site has, under `play/`."""
    if config.site_url:
        config.nav.insert(1, {"Play": f"{config.site_url}play/"})
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Returns the page's text with its inclusion and its links resolved."""
    page.meta.setdefault("search", search_options(page))
    folder = posixpath.dirname(posixpath.join("docs", page.file.src_uri))
    source = folder  # the folder that links are relative to
    if match := INCLUDE.fullmatch(markdown):
        source = posixpath.dirname(match.group(1))
        markdown = (ROOT / match.group(1)).read_text()

    def replace(match: re.Match[str]) -> str:
        text, target = match.groups()
        path = posixpath.normpath(posixpath.join(source, target))
        if path.startswith("docs/"):
            return f"[{text}]({posixpath.relpath(path, folder)})"
        return f"[{text}]({config.repo_url}/blob/main/{path})" if config.repo_url else text

    return LINK.sub(replace, markdown)


def search_options(page: Any) -> dict[str, Any]:
    """Returns how the site's search treats a page: guides come first, internals are left out."""
    folder, _, name = page.file.src_uri.removesuffix(".md").rpartition("/")
    if folder == "reference" and name not in SEARCHED:
        return {"exclude": True}
    if folder == "reference" or name == "changelog":
        return {"boost": 0.2}
    return {"boost": 4} if page.parent is not None and page.parent.title == GUIDES else {}


def describe_fields(source: str) -> dict[str, str]:
    """Returns the public fields of a class, from its source, with the comments behind them.

    Fields with a docstring of their own are left out, as the reference shows those anyway.
    """
    source = textwrap.dedent(source)
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    comments = {t.start[0]: t.string.lstrip("# ") for t in tokens if t.type == tokenize.COMMENT}
    (body,) = (part.body for part in ast.parse(source).body if isinstance(part, ast.ClassDef))
    fields = {}
    for part, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(part, ast.AnnAssign) or not isinstance(part.target, ast.Name):
            continue
        documented = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        private = part.target.id.startswith("_") or "ClassVar" in ast.unparse(part.annotation)
        if not documented and not private:
            fields[part.target.id] = comments.get(part.end_lineno or 0, "")
    return fields

"""Build hooks of the site: texts from elsewhere in the repository, and links that leave `docs`.

A page `<!-- include: CONTRIBUTING.md -->` is that file. In the repository every link works as it
is. On the site, a link to a file that is no page leads to the repository's own page of the file
where the repository's address is known (REPO_URL), and becomes plain text where it is not.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
INCLUDE = re.compile(r"<!-- include: (\S+) -->\n?")
LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+:|#)([^)\s]+)\)")


def on_config(config: Any) -> Any:
    """Adds a link to the gallery of players, which only the published site has, under `play/`."""
    if config.site_url:
        config.nav.insert(1, {"Play": f"{config.site_url}play/"})
    return config


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Returns the page's text with its inclusion and its links resolved."""
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

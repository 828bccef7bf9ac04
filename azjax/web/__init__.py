"""Playing in a browser: the export of a game and its network, the page, and a local server."""

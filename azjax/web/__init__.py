"""Playing in a browser: the exported game and network, the page, and a local server."""

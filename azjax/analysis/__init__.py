"""A played game, analysed: every position searched, the turning points, annotated files, a page."""

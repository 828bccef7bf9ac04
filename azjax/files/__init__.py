"""Games and positions as files have them: SGF, PGN, CSA, KIF, and lists of moves."""

"""The arena: exact solutions of small games, paired matches, Elo, and the report card."""

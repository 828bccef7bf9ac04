"""Games of pgx here, and games of this package there."""

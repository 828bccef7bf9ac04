"""Self-play: openings, the games in progress, resignation."""

from azjax.selfplay.league import first_league as first_league

"""What a run directory holds: checkpoints, metrics, plots; and printed progress."""

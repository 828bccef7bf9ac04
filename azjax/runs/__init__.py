"""The contents of a run directory: checkpoints, metrics, plots; and the printed progress."""

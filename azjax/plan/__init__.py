"""Ahead-of-time plans: training cycles compiled for accelerators that are not here."""

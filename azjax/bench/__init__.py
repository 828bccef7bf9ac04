"""`azjax bench`: the speed of games, search and training.

Repeats are interleaved within one run, and every figure is a median, because machines are noisy.
Ratios carry over to other days and machines, seconds do not.
"""

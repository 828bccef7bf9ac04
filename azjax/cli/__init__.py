"""The command line: the commands and their arguments."""

import gc

# JAX makes a million objects while it is imported and traces programs. By default, Python's garbage
# collector looks through all of them again and again, which takes an eighth of a command's start.
gc.set_threshold(100_000, 20, 20)

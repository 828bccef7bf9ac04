"""`python -m benchmarks.record`: one command that makes a record of a machine."""

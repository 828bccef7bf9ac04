"""Counts the kernels of programs compiled for machines that are not here, and estimates their time.

    python -m benchmarks.kernels.cycle connect_four --on v5e:2x2 h100    a training cycle
    python -m benchmarks.kernels.games chess                             games and their searches

It reads the text of the compiled program, counts on this machine how often loops repeat whose end
depends on data, and fits the time of kernels to what was measured on an H200.
"""

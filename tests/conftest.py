"""Every test runs on four CPU devices, strictly: rank promotion raises, and so do warnings."""

import jax

jax.config.update("jax_num_cpu_devices", 4)
jax.config.update("jax_numpy_rank_promotion", "raise")

"""Jaxprs, read alike under every supported version of JAX."""

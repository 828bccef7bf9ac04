"""azjax."""

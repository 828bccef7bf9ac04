"""The commands of `azjax`: their arguments, and what they call."""

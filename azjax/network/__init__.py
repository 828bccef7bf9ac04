"""Networks: their interface, the two-headed one of the configs, and those of Flax modules."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

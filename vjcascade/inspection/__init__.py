"""Looks at models: what each stage can decide, what is odd in them, what they reject in pictures."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

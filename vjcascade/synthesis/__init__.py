"""Altered samples and scenes, made of a few crops or of one picture: for training, and to try things out."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

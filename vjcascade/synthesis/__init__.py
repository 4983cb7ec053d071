"""Altered samples and synthetic scenes, made from a few crops or one picture, for training and experiments."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

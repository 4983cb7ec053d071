import typing

from . import data as data
from .classifier import (
    CASCADE_DO_CANNY_PRUNING as CASCADE_DO_CANNY_PRUNING,
    CASCADE_DO_ROUGH_SEARCH as CASCADE_DO_ROUGH_SEARCH,
    CASCADE_FIND_BIGGEST_OBJECT as CASCADE_FIND_BIGGEST_OBJECT,
    CASCADE_SCALE_IMAGE as CASCADE_SCALE_IMAGE,
    CascadeClassifier as CascadeClassifier,
    CascadeClassifier_convert as CascadeClassifier_convert,
)
from .grouping import groupRectangles as groupRectangles
from .installing import install as install

def __getattr__(name: str) -> typing.Any: ...

__all__ = [
    "CASCADE_DO_CANNY_PRUNING",
    "CASCADE_DO_ROUGH_SEARCH",
    "CASCADE_FIND_BIGGEST_OBJECT",
    "CASCADE_SCALE_IMAGE",
    "CascadeClassifier",
    "CascadeClassifier_convert",
    "data",
    "groupRectangles",
    "install",
]

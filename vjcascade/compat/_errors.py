"""Errors that `except cv2.error` catches."""

from __future__ import annotations

from vjcascade.errors import CascadeError
from vjcascade.imaging import opencv


class CompatError(CascadeError, opencv().error):  # type: ignore[misc]  # a base that is known at run time only
    """What `cv2.CascadeClassifier` would refuse too; has OpenCV's `code`, `err`, `func` and `msg`."""


class ArgumentError(CompatError, TypeError):
    """An argument of a kind that OpenCV does not take."""


def asserted(function: str, condition: str, sentence: str) -> CompatError:
    """Return the error for a condition that OpenCV asserts, with its code and words, and with what to do."""
    error = CompatError(f"(-215:Assertion failed) {condition} in function '{function}': {sentence}")
    error.code, error.err, error.func, error.msg = -215, condition, function, str(error)
    return error


def bad_argument(function: str, sentence: str) -> ArgumentError:
    """Return the error for an argument that OpenCV cannot convert."""
    error = ArgumentError(f"(-5:Bad argument) in function '{function}': {sentence}")
    error.code, error.err, error.func, error.msg = -5, sentence, function, str(error)
    return error

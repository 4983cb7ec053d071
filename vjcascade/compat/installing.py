"""Putting the drop-in into `cv2` itself, for code that one cannot change."""

from __future__ import annotations

import sys

import vjcascade.compat as ours
from vjcascade.compat import data
from vjcascade.imaging import opencv

_NOT_OF_CV2 = frozenset({"data", "install"})
"""Names of this package that are looked after below, or that `cv2` never had."""


def install(*, force: bool = False) -> list[str]:
    """Give `cv2` the names of this package that it lacks, and a folder of model files if it has none.

    Call it once, before or after `import cv2`; everything that imports `cv2` in this process sees the names.

    Parameters
    ----------
    force : bool, optional
        Replace `cv2`'s own classifier, function and flags as well. Not for pickles or threads at work with them.

    Returns
    -------
    list of str
        What was put there, for example "CascadeClassifier" or "data.haarcascades"; nothing the second time.

    Examples
    --------
    >>> put = install()
    >>> import cv2
    >>> cv2.CascadeClassifier().empty()
    True
    >>> install()
    []
    """
    cv2 = opencv()
    put = []
    for name in sorted(set(ours.__all__) - _NOT_OF_CV2):
        there, thing = getattr(cv2, name, None), getattr(ours, name)
        if there is None or (force and there is not thing):
            setattr(cv2, name, thing)
            put.append(name)
    if not hasattr(cv2, "data"):  # Debian's package
        cv2.data = data  # type: ignore[attr-defined]
        sys.modules.setdefault("cv2.data", data)
        return [*put, "data"]
    for name in ("haarcascades", "lbpcascades"):
        folder = getattr(data, name)
        if data.has_models(folder, name) and not data.has_models(getattr(cv2.data, name, ""), name):
            setattr(cv2.data, name, folder)
            put.append(f"data.{name}")
    return put

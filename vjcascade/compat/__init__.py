"""A drop-in for what `cv2.CascadeClassifier` was: change one import, keep the code.

`import vjcascade.compat as cv2` gives the classifier, `groupRectangles`, the flags and `data` from here, and every
other name (`imread`, `cvtColor`, `VideoCapture`, `error`, ...) from the OpenCV that is installed, whatever its
version. For code that cannot be changed, `install` puts the missing names into `cv2` itself, and
``python -m vjcascade.compat script.py`` runs a script so.

Results are those of OpenCV 4.14, an empty tuple where nothing was found included: running code relies on it, by
`if faces == ()`, `faces is ()` and `isinstance(faces, tuple)`, and code that would need an array there does not run on
OpenCV either. One thing differs, for the better: their order never changes from run to run.

Examples
--------
>>> import vjcascade.compat as cv2
>>> cv2.CASCADE_SCALE_IMAGE
2
>>> classifier = cv2.CascadeClassifier("no such file.xml")
>>> classifier.empty()
True
"""

from typing import Any

import lazy_loader

_own_name, _own_names, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Return a name of ours, or else one of OpenCV's."""
    if name in __all__ or (name.startswith("__") and name != "__version__"):
        return _own_name(name)
    from vjcascade.imaging import opencv

    cv2 = opencv()
    try:
        return getattr(cv2, name)
    except AttributeError:
        hint = _hint(name, [*__all__, *dir(cv2)])
        raise AttributeError(f"neither {__name__} nor OpenCV {cv2.__version__} has {name!r}{hint}") from None


def _hint(name: str, known: list[str]) -> str:
    """Say what a name of OpenCV 2 is called now, or what was meant by a misspelt one."""
    from vjcascade.messages import near_name

    if name == "cv":
        return (
            "; the module cv2.cv was OpenCV 2's: write cv2.CASCADE_SCALE_IMAGE for cv2.cv.CV_HAAR_SCALE_IMAGE"
        )
    if name.startswith("CV_HAAR_"):
        return f"; since OpenCV 3, its name is {name.replace('CV_HAAR', 'CASCADE')}"
    if name.startswith("HOG"):
        return "; OpenCV 5 has no HOG detector, and vjcascade does not replace it"
    near = near_name(name, known)
    return f"; did you mean {near!r}?" if near else ""


def __dir__() -> list[str]:
    """Return the names that are ours."""
    return list(_own_names())

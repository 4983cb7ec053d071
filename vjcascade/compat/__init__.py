"""A drop-in for what `cv2.CascadeClassifier` was: change one import, keep the code.

`import vjcascade.compat as cv2` gives the classifier, `groupRectangles`, the flags and `data` from here, and every
other name (`imread`, `cvtColor`, `VideoCapture`, `error`, ...) from the OpenCV that is installed, whatever its
version. For code that cannot be changed, `install` puts the missing names into `cv2` itself.

Results are those of OpenCV 4.14, with two differences, both for the better: they always are arrays, of shape
(n, 4) even where nothing was found, and their order never changes from run to run.

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
        raise AttributeError(f"neither {__name__} nor OpenCV {cv2.__version__} has {name!r}") from None


def __dir__() -> list[str]:
    """Return the names that are ours."""
    return list(_own_names())

"""The one import of OpenCV."""

from __future__ import annotations

import os
from functools import cache
from types import ModuleType

from vjcascade.errors import MissingLibraryError

SILENT = 0
"""OpenCV's level of logging without a line."""


@cache
def opencv() -> ModuleType:
    """Return the module `cv2`, imported at the first call.

    OpenCV's and FFmpeg's own lines on stderr (a missing camera brings ten) are switched off unless the
    environment variables OPENCV_LOG_LEVEL and OPENCV_FFMPEG_LOGLEVEL ask for them: we report in sentences.

    Raises
    ------
    MissingLibraryError
        If it cannot be imported, or only the remains of an uninstalled wheel can.

    Examples
    --------
    >>> opencv().__name__
    'cv2'
    """
    os.environ.setdefault("OPENCV_FFMPEG_LOGLEVEL", "-8")
    try:
        import cv2

        cv2.cvtColor  # noqa: B018  (two wheels, one of them uninstalled, leave an empty `cv2`)
    except (ImportError, AttributeError) as error:
        raise MissingLibraryError(
            f"OpenCV cannot be used ({error}); install exactly one of opencv-python, opencv-python-headless "
            "(for machines without a screen) and opencv-contrib-python"
        ) from error
    if "OPENCV_LOG_LEVEL" not in os.environ:
        logging = getattr(cv2.utils, "logging", cv2)  # OpenCV 4.10 has the function itself in cv2
        logging.setLogLevel(SILENT)
    return cv2

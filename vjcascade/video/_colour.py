"""OpenCV's order of colours."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vjcascade.imaging import opencv


def swap_red_and_blue(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Go from RGB to OpenCV's BGR, or back."""
    cv2 = opencv()
    swapped: NDArray[np.uint8] = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
    return swapped

"""Fixtures of the tests of pictures."""

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def photo(rng):
    """Return a smooth RGB picture of 60 x 40."""
    coarse = rng.integers(0, 256, (5, 7, 3), dtype=np.uint8)
    return np.array(Image.fromarray(coarse).resize((60, 40), Image.Resampling.BICUBIC))

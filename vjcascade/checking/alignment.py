"""The mean of crops, and how far they lie from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vjcascade.checking.descriptors import CHUNK, Stack

MAX_SHIFT = 0.25
"""Of the window's sides: crops are compared with the mean that far from their place."""


@dataclass(frozen=True, eq=False)
class Alignment:
    """How crops lie beside their mean.

    Attributes
    ----------
    mean : ndarray of shape (height, width), dtype uint8
        Mean of crops of the same brightness and contrast, as a picture.
    shifts : ndarray of shape (n, 2), dtype float64
        How far each is from the place where it is most like the mean, in shares of the window's width and height.
    agreement : float
        Correlation of a crop with the mean, in the median.
    """

    mean: NDArray[np.uint8]
    shifts: NDArray[np.float64]
    agreement: float

    @classmethod
    def of(cls, crops: Stack) -> Alignment:
        """Compare crops with their mean.

        Parameters
        ----------
        crops : ndarray of shape (n, height, width), dtype uint8
            At least one.

        Returns
        -------
        Alignment
            Of all of them.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> blob = np.exp(-((np.indices((24, 24)) - 12) ** 2).sum(axis=0) / 20)
        >>> crops = (40 + 150 * blob + rng.normal(0, 5, (30, 24, 24))).astype(np.uint8)
        >>> crops[7] = np.roll(crops[7], 4, axis=1)
        >>> shifts = Alignment.of(crops).shifts
        >>> [round(24 * float(x)) for x in shifts[6:9, 0]]
        [0, 4, 0]
        """
        n, height, width = crops.shape
        total = np.zeros((height, width))
        for start in range(0, n, CHUNK):
            total += _normal(crops[start : start + CHUNK]).sum(axis=0)
        mean = total / n
        mean -= mean.mean()
        spectra = [np.conj(np.fft.rfft2(slope)) for slope in np.gradient(mean)]
        reach = max(int(MAX_SHIFT * height), 1), max(int(MAX_SHIFT * width), 1)
        far = np.full((height, width), True)
        ys, xs = (np.arange(-r, r + 1) for r in reach)
        far[np.ix_(ys, xs)] = False
        shifts, agreements = np.empty((n, 2)), np.empty(n)
        for start in range(0, n, CHUNK):
            some = _normal(crops[start : start + CHUNK])
            agreements[start : start + CHUNK] = (some * mean).sum(axis=(1, 2))
            # Slopes, since bright and dark areas are like each other wherever they lie.
            slopes = np.gradient(some, axis=(1, 2))
            product = sum(np.fft.rfft2(one) * spectrum for one, spectrum in zip(slopes, spectra, strict=True))
            products = np.fft.irfft2(product, (height, width))
            products[:, far] = -np.inf
            y, x = np.unravel_index(products.reshape(len(some), -1).argmax(axis=1), (height, width))
            signed = [
                np.where(at > size // 2, at - size, at) / size for at, size in ((x, width), (y, height))
            ]
            shifts[start : start + CHUNK] = np.stack(signed, axis=1)
        length = np.linalg.norm(mean) * np.sqrt(height * width)
        low, high = mean.min(), mean.max()
        picture = np.rint(255 * (mean - low) / max(high - low, 1e-9)).astype(np.uint8)
        return cls(picture, shifts, float(np.median(agreements)) / max(float(length), 1e-9))

    def within(self, share: float) -> float:
        """Return how far from the mean this share of the crops lies at most, in shares of the window's sides."""
        return float(np.quantile(np.abs(self.shifts).max(axis=1), share))


def _normal(crops: Stack) -> NDArray[np.float64]:
    """Return crops with mean 0 and standard deviation 1."""
    some = crops.astype(np.float64)
    some -= some.mean(axis=(1, 2), keepdims=True)
    normal: NDArray[np.float64] = some / np.maximum(some.std(axis=(1, 2), keepdims=True), 1e-9)
    return normal

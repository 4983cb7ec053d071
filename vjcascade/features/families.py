"""Feature families: what sets one kind of feature apart from another, in one object each.

Training and comparisons ask the family of a setting or of a pool; none of them knows kinds of features by name.
Another family needs:

* a `FeatureType` and a dtype of its features in `vjcascade.types`;
* a subclass of `FeatureFamily` here, entered in `FAMILIES`, and one of `BinStore` in `vjcascade.features.binning`;
* how a node tests a window, in `vjcascade.kernels.scan` and `vjcascade.kernels.lanes`, and the numbers that this takes,
  in `vjcascade.detection.compiled`;
* an entry in `DTYPES` and checks of its features in `vjcascade.cascade`, and how files spell them in
  `vjcascade.formats.new_format`;
* what people see of it, in `vjcascade.inspection` and `vjcascade.cli.inspect`, and in `vjcascade.report.features` and
  `vjcascade.report.inspection_charts`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vjcascade.features.haar import HaarMode, corner_offsets, count_haar, enumerate_haar
from vjcascade.features.lbp_pool import cell_offsets, count_lbp, enumerate_lbp
from vjcascade.types import FEATURE_DTYPE, LBP_DTYPE, FeatureType, Size

if TYPE_CHECKING:  # what training alone needs would make the start of a detection longer
    from vjcascade.buffers import ReusableBuffer
    from vjcascade.features.binning import BinStore, HaarBins, LbpBins
    from vjcascade.features.integrals import WindowIntegrals


class FeatureFamily(ABC):
    """One kind of feature: its pool, its values, and what it needs of a window.

    Attributes
    ----------
    dtype : numpy.dtype
        Of one feature.
    is_categorical : bool
        Whether values are codes without an order, which a weak classifier splits by a subset; else they are numbers,
        split by a threshold.
    is_normalised : bool
        Whether values are divided by the contrast of the window, which needs the squared integral image.

    Examples
    --------
    >>> family = FAMILIES[FeatureType.LBP]
    >>> pool = family.enumerate(Size(24, 24), HaarMode.BASIC)
    >>> len(pool), family_of(pool) is family
    (8464, True)
    """

    dtype: ClassVar[np.dtype[Any]]
    is_categorical: ClassVar[bool]
    is_normalised: ClassVar[bool]

    @abstractmethod
    def enumerate(self, window: Size, mode: HaarMode) -> NDArray[np.void]:
        """Return the pool of a window, shape (n,), in the order of OpenCV's trainer; `mode` is for Haar features."""

    @abstractmethod
    def count(self, window: Size, mode: HaarMode) -> int:
        """Return how many features `enumerate` would list, without listing them."""

    @abstractmethod
    def values(self, features: NDArray[np.void], integrals: WindowIntegrals) -> NDArray[np.generic]:
        """Return values in windows exactly as the detector computes them, shape (n_features, n_windows)."""

    @abstractmethod
    def bin_store(
        self,
        pool: NDArray[np.void],
        positives: WindowIntegrals,
        n_threads: int,
        space: ReusableBuffer | None = None,
    ) -> BinStore:
        """Return what sorts values into bins for the search.

        Parameters
        ----------
        pool : ndarray of shape (n_features,), dtype `dtype`
            Features.
        positives : WindowIntegrals
            Of positives: all, or some that stand for all. They say where bins lie.
        n_threads : int
            Threads; results do not depend on it.
        space : ReusableBuffer, optional
            Where the bins are kept, if not in memory of their own.

        Returns
        -------
        BinStore
            Of this family.
        """

    @abstractmethod
    def corners(self, features: NDArray[np.void], window: Size) -> NDArray[np.uint32]:
        """Return where features read the integral images of one window, laid flat, shape (n_features, n_corners)."""

    def needs_tilted(self, mode: HaarMode) -> bool:
        """Tell whether a pool has features that need the tilted integral image."""
        del mode
        return False

    def has_tilted(self, features: NDArray[np.void]) -> bool:
        """Tell whether any of these features needs the tilted integral image."""
        del features
        return False


class HaarFamily(FeatureFamily):
    """Weighted sums of rectangles."""

    dtype = FEATURE_DTYPE
    is_categorical = False
    is_normalised = True

    def enumerate(self, window: Size, mode: HaarMode) -> NDArray[np.void]:
        """Return the pool of a window; see `enumerate_haar`."""
        return enumerate_haar(window, mode)

    def count(self, window: Size, mode: HaarMode) -> int:
        """Return how many features the pool has."""
        return count_haar(window, mode)

    def values(self, features: NDArray[np.void], integrals: WindowIntegrals) -> NDArray[np.float32]:
        """Return weighted sums, divided by area and contrast."""
        return integrals.values(features)

    def bin_store(
        self,
        pool: NDArray[np.void],
        positives: WindowIntegrals,
        n_threads: int,
        space: ReusableBuffer | None = None,
    ) -> HaarBins:
        """Return a store whose bins lie where the positives' values are."""
        from vjcascade.features.binning import HaarBins

        return HaarBins(pool, positives, n_threads, space)

    def corners(self, features: NDArray[np.void], window: Size) -> NDArray[np.uint32]:
        """Return the four corners of each of three rectangles."""
        stride = window.width + 1
        return corner_offsets(features, stride, stride * (window.height + 1)).reshape(len(features), 12)

    def needs_tilted(self, mode: HaarMode) -> bool:
        """Tell whether the pool has tilted features."""
        return mode is HaarMode.ALL

    def has_tilted(self, features: NDArray[np.void]) -> bool:
        """Tell whether any feature is tilted."""
        return bool(features["tilted"].any())


class LbpFamily(FeatureFamily):
    """Multi-block local binary patterns: codes of which cells are at least as bright as the middle one."""

    dtype = LBP_DTYPE
    is_categorical = True
    is_normalised = False

    def enumerate(self, window: Size, mode: HaarMode) -> NDArray[np.void]:
        """Return the pool of a window; see `enumerate_lbp`."""
        del mode
        return enumerate_lbp(window)

    def count(self, window: Size, mode: HaarMode) -> int:
        """Return how many features the pool has."""
        del mode
        return count_lbp(window)

    def values(self, features: NDArray[np.void], integrals: WindowIntegrals) -> NDArray[np.uint8]:
        """Return codes; see `lbp_codes`."""
        from vjcascade.features.lbp import lbp_codes

        return lbp_codes(features, integrals)

    def bin_store(
        self,
        pool: NDArray[np.void],
        positives: WindowIntegrals,
        n_threads: int,
        space: ReusableBuffer | None = None,
    ) -> LbpBins:
        """Return a store with a bin for each code."""
        from vjcascade.features.binning import LbpBins

        del positives
        return LbpBins(pool, n_threads, space)

    def corners(self, features: NDArray[np.void], window: Size) -> NDArray[np.uint32]:
        """Return the corners of three by three cells, row after row."""
        return cell_offsets(features, window.width + 1)


FAMILIES: dict[FeatureType, FeatureFamily] = {
    FeatureType.HAAR: HaarFamily(),
    FeatureType.LBP: LbpFamily(),
}


def family_of(features: NDArray[np.void]) -> FeatureFamily:
    """Return the family of some features, by their dtype."""
    return next(family for family in FAMILIES.values() if family.dtype == features.dtype)

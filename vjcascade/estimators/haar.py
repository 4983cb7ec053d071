"""Haar features as a transformer of scikit-learn."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_array, check_is_fitted

from vjcascade.cascade import checked_window
from vjcascade.checks import checked_choice
from vjcascade.errors import SettingsError
from vjcascade.features import HaarMode, enumerate_haar
from vjcascade.features.integrals import WindowIntegrals
from vjcascade.types import Size


class HaarTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Haar features of windows, exactly as the detector computes them.

    A window of 24x24 pixels has 162,336 features: 650 KB a window. For many windows choose some of them.

    Parameters
    ----------
    window : Size, pair of int or str, optional
        (width, height), or ``"24x20"``; the windows' own size if not given. Flattened windows need it.
    mode : HaarMode or str
        Which features there are: basic, core or all.
    features : array_like of int, optional
        Which of `vjcascade.features.enumerate_haar` to compute; all if not given.

    Attributes
    ----------
    window_ : Size
        Width and height of the windows.
    features_ : ndarray of shape (n_features,), dtype `FEATURE_DTYPE`
        The features computed.
    n_features_in_ : int
        Pixels of a window.

    Examples
    --------
    >>> windows = np.random.default_rng(0).integers(0, 256, (5, 6, 6), np.uint8)
    >>> HaarTransformer().fit_transform(windows).shape
    (5, 669)
    >>> some = HaarTransformer(window=(6, 6), features=[0, 7]).fit(windows.reshape(5, 36))
    >>> some.get_feature_names_out().tolist()
    ['upright(-1*0,0,2,1 +2*1,0,1,1)', 'upright(-1*0,0,3,2 +3*1,0,1,2)']
    """

    def __init__(
        self,
        window: Size | tuple[int, int] | str | None = None,
        mode: HaarMode | str = "basic",
        features: ArrayLike | None = None,
    ) -> None:
        self.window = window
        self.mode = mode
        self.features = features

    def fit(self, X: ArrayLike, y: object = None) -> Self:  # noqa: ARG002  pipelines pass it
        """Lay out the features.

        Parameters
        ----------
        X : array_like of shape (n, h, w) or (n, h * w), dtype uint8
            Windows.
        y : object
            Not used.

        Returns
        -------
        HaarTransformer
            Itself, fitted.

        Raises
        ------
        SettingsError
            If the windows are not uint8 or of another size than `window`, or there is no such mode or feature.
        """
        pixels = _checked_pixels(X)
        self.window_ = self._window_of(pixels)
        _as_windows(pixels, self.window_)
        self.features_ = self._pool()
        self.n_features_in_ = self.window_.width * self.window_.height
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Compute the features.

        Parameters
        ----------
        X : array_like of shape (n, h, w) or (n, h * w), dtype uint8
            Windows.

        Returns
        -------
        ndarray of shape (n, n_features), dtype float32
            Feature values; 0 in windows without contrast.
        """
        check_is_fitted(self)
        windows = _as_windows(_checked_pixels(X), self.window_)
        tilted = bool(self.features_["tilted"].any())
        return WindowIntegrals.of(windows, tilted=tilted).values(self.features_).T

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:  # noqa: ARG002
        """Name each feature by its rectangles: weight times x, y, width, height.

        Parameters
        ----------
        input_features : object
            Not used: pixels have no names.

        Returns
        -------
        ndarray of shape (n_features,), dtype object
            Names, each once.
        """
        check_is_fitted(self)
        return np.array([_name(feature) for feature in self.features_], object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.transformer_tags.preserves_dtype = []
        return tags

    def _window_of(self, pixels: NDArray[np.uint8]) -> Size:
        """Return the window that is set, or else that of the pixels."""
        if isinstance(self.window, str):
            return checked_window(Size.parse(self.window))
        if self.window is not None:
            return checked_window(self.window)
        if pixels.ndim == 2:
            raise SettingsError(
                f"windows of {pixels.shape[1]} pixels are flattened: give HaarTransformer their window=(width, height)"
            )
        return checked_window(Size(*pixels.shape[:0:-1]))

    def _pool(self) -> NDArray[np.void]:
        """Return the features that are set."""
        mode = checked_choice("feature mode", self.mode, HaarMode)
        pool = enumerate_haar(self.window_, mode)
        if self.features is None:
            return pool
        indices = np.asarray(self.features)
        if indices.dtype.kind not in "iu" or indices.ndim != 1 or len(indices) == 0:
            raise SettingsError(f"features must be a list of indices, not {self.features!r}")
        wrong = indices[(indices < 0) | (indices >= len(pool))]
        if len(wrong):
            raise SettingsError(
                f"there is no feature {wrong[0]}: a {self.window_} window has {len(pool)}, from 0 on"
            )
        chosen: NDArray[np.void] = pool[indices]
        return chosen


def _checked_pixels(X: ArrayLike) -> NDArray[np.uint8]:
    pixels: NDArray[np.uint8] = check_array(X, dtype=None, allow_nd=True)
    if pixels.dtype != np.uint8 or pixels.ndim > 3:
        raise SettingsError(
            f"an array of shape {pixels.shape}, dtype {pixels.dtype}, holds no windows: "
            "make it uint8 grey levels of shape (n, height, width)"
        )
    return pixels


def _as_windows(pixels: NDArray[np.uint8], window: Size) -> NDArray[np.uint8]:
    """Return pixels of shape (n, h, w)."""
    shape = (window.height, window.width)
    if pixels.shape[1:] not in {shape, (window.width * window.height,)}:
        raise SettingsError(
            f"windows of shape {pixels.shape[1:]} are not {window}: (height, width) must be {shape}"
        )
    return pixels.reshape(-1, *shape)


def _name(feature: np.void) -> str:
    present = feature["weights"] != 0
    rects = zip(feature["rects"][present].tolist(), feature["weights"][present], strict=True)
    words = [f"{weight:+g}*{','.join(map(str, rect))}" for rect, weight in rects]
    return f"{'tilted' if feature['tilted'] else 'upright'}({' '.join(words)})"

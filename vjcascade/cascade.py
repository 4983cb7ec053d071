"""The trained model: a frozen, validated, flat `Cascade`."""

from __future__ import annotations

import hashlib
import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from vjcascade.checks import checked_number, checked_whole
from vjcascade.errors import ModelError, SettingsError
from vjcascade.messages import pluralize
from vjcascade.types import FEATURE_DTYPE, LBP_DTYPE, Detections, FeatureType, Size

NODE_DTYPE = np.dtype(
    [
        ("feature", np.int32),
        ("threshold", np.float32),  # float32: OpenCV compares float32 feature values with float32 thresholds
        ("left", np.int32),  # taken if value < threshold; > 0: node of the same tree, <= 0: leaf -left of it
        ("right", np.int32),
    ]
)
"""One inner node of a weak classifier over Haar features; a stump is a tree of one node."""

LBP_NODE_DTYPE = np.dtype(
    [
        ("feature", np.int32),
        ("subset", np.uint32, (8,)),  # bit `code & 31` of word `code >> 5` is set: left is taken
        ("left", np.int32),
        ("right", np.int32),
    ]
)
"""One inner node of a weak classifier over LBP features, whose values are codes from 0 to 255."""

DTYPES = {FeatureType.HAAR: (FEATURE_DTYPE, NODE_DTYPE), FeatureType.LBP: (LBP_DTYPE, LBP_NODE_DTYPE)}
"""Of the features of each type, and of the nodes that test them."""

THRESHOLD_EPSILON = np.float32(1e-5)
"""What OpenCV's detector subtracts from every stage threshold, in float32."""

_ARRAYS = ("features", "nodes", "tree_starts", "leaves", "stage_starts", "stage_thresholds")

CHANGES = "changes"
"""Where metadata says what was changed in a finished model, one mapping a change."""

OPERATING_POINT = "operating_point"
"""Where metadata has the settings of the detector that the model was tuned to."""

_MADE_BY = ("window", "settings", "data", "continued", CHANGES)
"""What metadata says of how a model was made: true of its parts, too."""

MAX_WINDOW_SIDE = 256
"""Largest window side accepted: rectangle sums and squared sums of such a window stay exact in 32 bits."""


def checked_window(window: Size | tuple[int, int]) -> Size:
    """Return a training window that can be used, as a `Size` of plain ints.

    Raises
    ------
    SettingsError
        If it is not a pair of whole numbers from 3 (contrast is measured without the border) to
        `MAX_WINDOW_SIDE`.

    Examples
    --------
    >>> checked_window((24, 20))
    Size(width=24, height=20)
    """
    try:
        width, height = map(operator.index, window)
    except (TypeError, ValueError):
        width = height = 0
    if not (3 <= width <= MAX_WINDOW_SIDE and 3 <= height <= MAX_WINDOW_SIDE):
        shown = str(window) if isinstance(window, Size) else repr(window)
        raise SettingsError(
            f"window {shown} is not usable: width and height must be whole numbers of pixels, "
            f"3 to {MAX_WINDOW_SIDE}"
        )
    return Size(width, height)


@dataclass(frozen=True, eq=False)
class Stage:
    """A trained stage, before it joins a cascade.

    Attributes
    ----------
    features : ndarray of shape (n_nodes,), dtype `FEATURE_DTYPE` or `LBP_DTYPE`
        The feature of each node, weak classifier after weak classifier.
    thresholds : ndarray of shape (n_nodes,), dtype float32
        A window goes left if its feature value is below the threshold; without meaning for LBP features.
    leaves : ndarray of n_nodes + n_trees items, dtype float32
        Votes; of stumps, shape (n_nodes, 2): the left and the right side.
    threshold : float32
        Stage threshold as written to files, before `THRESHOLD_EPSILON` is taken off.
    children : ndarray of shape (n_nodes, 2), dtype int32, optional
        Left and right child, as in `NODE_DTYPE`; without it, all are stumps.
    tree_sizes : ndarray of shape (n_trees,), dtype int32, optional
        Nodes of each weak classifier; without it, all are stumps.
    subsets : ndarray of shape (n_nodes, 8), dtype uint32, optional
        For LBP features, the codes that go left, as in `LBP_NODE_DTYPE`.
    """

    features: NDArray[np.void]
    thresholds: NDArray[np.float32]
    leaves: NDArray[np.float32]
    threshold: np.float32
    children: NDArray[np.int32] | None = None
    tree_sizes: NDArray[np.int32] | None = None
    subsets: NDArray[np.uint32] | None = None

    @property
    def n_trees(self) -> int:
        """Number of weak classifiers."""
        return len(self.features if self.tree_sizes is None else self.tree_sizes)


@dataclass(frozen=True, eq=False, repr=False)
class Cascade:
    """A Viola-Jones cascade: stages of trees over Haar or LBP features, in flat arrays.

    A window passes a stage if the sum of its trees' leaf values (float64 over float32 leaves) is not below
    `effective_thresholds`; it is accepted if it passes every stage. `Cascade(window)` accepts everything.

    Attributes
    ----------
    window : Size
        Training window, in pixels; may be given as a pair (width, height).
    features : ndarray of shape (n_features,), dtype `FEATURE_DTYPE` or `LBP_DTYPE`
        The features that nodes refer to; their dtype decides whether this is a Haar or an LBP cascade.
    nodes : ndarray of shape (n_nodes,), dtype `NODE_DTYPE` or `LBP_NODE_DTYPE`
        The nodes of all trees, tree after tree; a tree's root comes first and children after parents.
    tree_starts : ndarray of shape (n_trees + 1,), dtype int32
        Tree `t` has the nodes `tree_starts[t]:tree_starts[t + 1]`, and one leaf more than nodes: its first
        leaf is `tree_starts[t] + t`.
    leaves : ndarray of shape (n_nodes + n_trees,), dtype float32
        Votes.
    stage_starts : ndarray of shape (n_stages + 1,), dtype int32
        Stage `s` has the trees `stage_starts[s]:stage_starts[s + 1]`.
    stage_thresholds : ndarray of shape (n_stages,), dtype float32
        As written to files.
    metadata : mapping
        How the cascade was trained and how good it is; plain JSON values.

    Raises
    ------
    ModelError
        If the window, an index, a rectangle or a count is out of range, or a number is not finite.

    Examples
    --------
    >>> from vjcascade.types import Size
    >>> cascade = Cascade(Size(24, 24))
    >>> cascade.n_stages, cascade.n_trees
    (0, 0)
    >>> cascade
    <Cascade: window 24x24, 0 stages, 0 weak classifiers, 0 Haar features>
    """

    window: Size
    features: NDArray[np.void] = field(default_factory=lambda: np.empty(0, FEATURE_DTYPE))
    nodes: NDArray[np.void] = field(default_factory=lambda: np.empty(0, NODE_DTYPE))
    tree_starts: NDArray[np.int32] = field(default_factory=lambda: np.zeros(1, np.int32))
    leaves: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    stage_starts: NDArray[np.int32] = field(default_factory=lambda: np.zeros(1, np.int32))
    stage_thresholds: NDArray[np.float32] = field(default_factory=lambda: np.empty(0, np.float32))
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "window", checked_window(self.window))
        except SettingsError as error:
            raise ModelError(str(error)) from None
        _check_arrays(self)
        if self.feature_type is FeatureType.LBP:
            _check_cells(self.window, self.features)
        else:
            _check_rectangles(self.window, self.features)
        _check_counts(self)
        _check_children(self)

    def __repr__(self) -> str:
        """Return one line: the arrays and metadata of a real model fill pages."""
        stages, trees = pluralize(self.n_stages, "stage"), pluralize(self.n_trees, "weak classifier")
        features = pluralize(len(self.features), f"{self.feature_type.label} feature")
        return f"<Cascade: window {self.window}, {stages}, {trees}, {features}>"

    def __str__(self) -> str:
        """Return some lines: what it is, and what its file says of how it was trained and how good it is."""
        from vjcascade.inspection.summary import summary_lines

        return "\n".join(summary_lines(self))

    def _repr_html_(self) -> str:
        """Return a summary and a table of the stages for notebooks."""
        from vjcascade.inspection.summary import summary_html

        return summary_html(self)

    @classmethod
    def empty(cls, window: Size | tuple[int, int], feature_type: FeatureType) -> Self:
        """Return a cascade without stages, to which stages over features of one type can be added.

        Examples
        --------
        >>> Cascade.empty((24, 24), FeatureType.LBP)
        <Cascade: window 24x24, 0 stages, 0 weak classifiers, 0 LBP features>
        """
        feature_dtype, node_dtype = DTYPES[feature_type]
        return cls(Size(*window), np.empty(0, feature_dtype), np.empty(0, node_dtype))

    @property
    def feature_type(self) -> FeatureType:
        """The kind of features: Haar or LBP."""
        return FeatureType.LBP if self.features.dtype == LBP_DTYPE else FeatureType.HAAR

    @property
    def n_stages(self) -> int:
        """Number of stages."""
        return len(self.stage_thresholds)

    @property
    def n_trees(self) -> int:
        """Number of weak classifiers in all stages."""
        return len(self.tree_starts) - 1

    @property
    def stage_sizes(self) -> NDArray[np.int32]:
        """Number of weak classifiers of each stage, shape (n_stages,)."""
        return np.diff(self.stage_starts)

    @property
    def effective_thresholds(self) -> NDArray[np.float32]:
        """Lowest sum that passes each stage, shape (n_stages,), dtype float32 (OpenCV's rule)."""
        return self.stage_thresholds - THRESHOLD_EPSILON

    @property
    def stages_digest(self) -> str:
        """SHA-256 of window, features and stages, in hexadecimal, without the metadata."""
        digest = hashlib.sha256(str(self.window).encode())
        for name in _ARRAYS:
            digest.update(getattr(self, name).tobytes())
        return digest.hexdigest()

    def with_stage(self, stage: Stage) -> Self:
        """Return this cascade with one more stage; features already used are shared.

        Raises
        ------
        ModelError
            If the stage has features of another type.
        """
        if stage.features.dtype != self.features.dtype:
            raise ModelError(f"this stage cannot be added to a cascade over {self.feature_type} features")
        features, indices = _shared_features(self.features, stage.features)
        nodes = np.zeros(len(indices), self.nodes.dtype)
        nodes["feature"] = indices
        if self.feature_type is FeatureType.LBP:
            nodes["subset"] = stage.subsets
        else:
            nodes["threshold"] = stage.thresholds
        children = np.array([[0, -1]], np.int32) if stage.children is None else stage.children
        nodes["left"], nodes["right"] = children[:, 0], children[:, 1]
        sizes = np.ones(len(nodes), np.int32) if stage.tree_sizes is None else stage.tree_sizes
        ends = self.tree_starts[-1] + np.cumsum(sizes, dtype=np.int32)
        return replace(
            self,
            features=features,
            nodes=np.concatenate([self.nodes, nodes]),
            tree_starts=np.append(self.tree_starts, ends),
            leaves=np.append(self.leaves, stage.leaves.astype(np.float32).ravel()),
            stage_starts=np.append(self.stage_starts, np.int32(self.n_trees + len(ends))),
            stage_thresholds=np.append(self.stage_thresholds, np.float32(stage.threshold)),
        )

    def with_metadata(self, metadata: Mapping[str, Any]) -> Self:
        """Return this cascade with other metadata."""
        return replace(self, metadata=dict(metadata))

    def first_stages(self, n: int) -> Self:
        """Return this cascade cut to its first stages: faster, with higher recall and more false alarms.

        Parameters
        ----------
        n : int
            Stages to keep, from 0 to `n_stages`.

        Returns
        -------
        Cascade
            It keeps all features; see `without_unused_features`. Metadata keeps how the model was made and the
            records of these stages, says of how many stages they were, and drops all else.

        Raises
        ------
        SettingsError
            If there are fewer stages.

        Examples
        --------
        >>> Cascade(Size(24, 24)).first_stages(0).n_stages
        0
        """
        n = checked_whole("stages", n, le=self.n_stages, hint="as many as the model has")
        if n == self.n_stages:
            return self
        n_trees = self.stage_starts[n]
        n_nodes = self.tree_starts[n_trees]
        records = self.metadata.get("stages")
        known = [one for one in records if _is_of_stage(one, n)] if isinstance(records, list) else []
        return replace(
            self,
            nodes=self.nodes[:n_nodes],
            tree_starts=self.tree_starts[: n_trees + 1],
            leaves=self.leaves[: n_nodes + n_trees],
            stage_starts=self.stage_starts[: n + 1],
            stage_thresholds=self.stage_thresholds[:n],
            metadata=self._metadata_after({"first_stages": n, "of": self.n_stages}, known),
        )

    def followed_by(self, other: Cascade, skip: int = 0) -> Self:
        """Return this cascade with another one's stages after its own: it accepts what both accept.

        Two models trained in different ways seldom agree on a false alarm, so together they raise fewer, like
        the votes of several detectors in Viola and Jones 2004 (section 5.7).

        Parameters
        ----------
        other : Cascade
            Of the same window and type of features.
        skip : int
            Stages of the other cascade to leave out, from 0 to its `n_stages`: those that both begin with.

        Returns
        -------
        Cascade
            Metadata keeps how this model was made and the records of its stages, how the other one was made, and
            drops all else.

        Raises
        ------
        SettingsError
            If the other cascade has fewer stages.
        ModelError
            If windows or types of features differ.

        Examples
        --------
        >>> Cascade(Size(24, 24)).followed_by(Cascade(Size(24, 24))).n_stages
        0
        """
        skip = checked_whole("stages to skip", skip, le=other.n_stages, hint="as many as the other model has")
        if (other.window, other.feature_type) != (self.window, self.feature_type):
            theirs, ours = (f"{one.window} and {one.feature_type} features" for one in (other, self))
            raise ModelError(f"a cascade of {theirs} cannot follow one of {ours}: both must be the same")
        n_trees = other.stage_starts[skip]
        n_nodes = other.tree_starts[n_trees]
        nodes = other.nodes[n_nodes:].copy()
        used, places = np.unique(nodes["feature"], return_inverse=True)
        features, indices = _shared_features(self.features, other.features[used])
        nodes["feature"] = indices[places]
        change = {"followed_by": other._made_by(), "stages": other.n_stages - skip, "skipped": skip}
        records = self.metadata.get("stages")
        return replace(
            self,
            features=features,
            nodes=np.concatenate([self.nodes, nodes]),
            tree_starts=np.append(
                self.tree_starts, other.tree_starts[n_trees + 1 :] - n_nodes + len(self.nodes)
            ),
            leaves=np.append(self.leaves, other.leaves[n_nodes + n_trees :]),
            stage_starts=np.append(
                self.stage_starts, other.stage_starts[skip + 1 :] - n_trees + self.n_trees
            ),
            stage_thresholds=np.append(self.stage_thresholds, other.stage_thresholds[skip:]),
            metadata=self._metadata_after(change, records if isinstance(records, list) else []),
        )

    def with_shifted_thresholds(self, shift: float, n_last: int | None = None) -> Self:
        """Return this cascade with shifted thresholds of its last stages: lower ones raise recall and false alarms.

        Parameters
        ----------
        shift : float
            Added to the stage thresholds, in float32.
        n_last : int, optional
            Number of last stages to change, from 0 to `n_stages`; all if not given.

        Returns
        -------
        Cascade
            Metadata keeps how the model was made, and drops what was measured on it.

        Raises
        ------
        SettingsError
            If the shift is not finite, or there are fewer stages.
        ModelError
            If a threshold becomes infinite.

        Examples
        --------
        >>> Cascade(Size(24, 24)).with_shifted_thresholds(-0.5).stage_thresholds.tolist()
        []
        """
        shift = checked_number("shift of the thresholds", shift, gt=-np.inf, lt=np.inf)
        n_last = self.n_stages if n_last is None else n_last
        n_last = checked_whole("last stages", n_last, le=self.n_stages, hint="as many as the model has")
        if shift == 0 or n_last == 0:
            return self
        thresholds = self.stage_thresholds.copy()
        with np.errstate(over="ignore"):  # infinite ones are refused
            thresholds[self.n_stages - n_last :] += np.float32(shift)
        change = {"threshold_shift": shift, "last_stages": n_last}
        return replace(self, stage_thresholds=thresholds, metadata=self._metadata_after(change))

    def without_unused_features(self) -> Self:
        """Return this cascade without features that no node uses; its decisions do not change.

        Examples
        --------
        >>> one = np.zeros(1, LBP_DTYPE)
        >>> one["cell"] = [0, 0, 2, 2]
        >>> len(Cascade(Size(24, 24), one, np.empty(0, LBP_NODE_DTYPE)).without_unused_features().features)
        0
        """
        used, places = np.unique(self.nodes["feature"], return_inverse=True)
        if len(used) == len(self.features):
            return self
        nodes = self.nodes.copy()
        nodes["feature"] = places
        return replace(self, features=self.features[used], nodes=nodes)

    def _made_by(self) -> dict[str, Any]:
        """Return what metadata says of how the model was made."""
        return {name: self.metadata[name] for name in _MADE_BY if name in self.metadata}

    def _metadata_after(self, change: Mapping[str, Any], records: Sequence[Any] = ()) -> dict[str, Any]:
        """Return what metadata may still say after a change: of the whole model, no figure holds any more."""
        kept = self._made_by()
        before = kept.get(CHANGES)
        kept[CHANGES] = [*(before if isinstance(before, list) else []), dict(change)]
        return {**kept, "stages": list(records)} if records else kept

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Cascade:
        """Read a model file of any kind that OpenCV 4 reads; see `vjcascade.formats.load_cascade`."""
        from vjcascade.formats import load_cascade

        if not isinstance(path, str | PathLike):
            raise TypeError(
                f"a model is loaded by the path of its file, not by {type(path).__name__}; "
                "`vjcascade.formats.parse_cascade` takes what is in a file"
            )
        return load_cascade(Path(path))

    def save(self, path: str | PathLike[str]) -> None:
        """Write an OpenCV XML file, atomically; see `vjcascade.formats.save_cascade`."""
        from vjcascade.formats import save_cascade

        save_cascade(self, Path(path))

    def detect(
        self,
        image: NDArray[Any],
        *,
        scale_factor: float = 1.1,
        min_neighbors: int = 3,
        min_size: tuple[int, int] | None = None,
        max_size: tuple[int, int] | None = None,
        min_ranking_score: float = 0.0,
        n_threads: int | None = None,
    ) -> Detections:
        """Find the object in a picture, as OpenCV does; for many pictures, keep a `vjcascade.Detector`.

        All stages and these defaults are used, whatever the model was tuned to; see `vjcascade.load_detector`.

        Parameters
        ----------
        image : ndarray
            Grey (h, w), RGB (h, w, 3) or RGBA (h, w, 4); see `vjcascade.imaging.to_gray` for the dtypes.
        scale_factor : float, optional
            Ratio of neighbouring scales, > 1.
        min_neighbors : int, optional
            A detection needs more raw windows than this; 0 returns raw windows.
        min_size, max_size : Size or tuple of int, optional
            Bounds on the width and height of the object in pixels, both of which count: see `Detector`.
        min_ranking_score : float, optional
            A detection's ranking score is at least this; 0 keeps all.
        n_threads : int, optional
            All processors if not given. Results do not depend on it.

        Returns
        -------
        Detections
            Boxes inside the picture, with scores.

        Raises
        ------
        SettingsError
            If a setting is out of range.
        ValueError or TypeError
            If `image` is not a picture.

        Examples
        --------
        >>> picture = np.random.default_rng(1).integers(0, 256, (24, 24), np.uint8)
        >>> Cascade(Size(24, 24)).detect(picture, min_neighbors=0)
        <Detections: 1, best at 0, 0, 24, 24 (x, y, w, h), ranking score 0.0>
        """
        from vjcascade.detection import detect

        return detect(
            image,
            self,
            scale_factor=scale_factor,
            min_neighbors=min_neighbors,
            min_size=min_size,
            max_size=max_size,
            min_ranking_score=min_ranking_score,
            n_threads=n_threads,
        )

    def detect_dense(  # noqa: PLR0913  the settings of `DenseDetector`
        self,
        image: NDArray[Any],
        *,
        scale_factor: float = 1.1,
        min_neighbors: int = 3,
        min_size: tuple[int, int] | None = None,
        max_size: tuple[int, int] | None = None,
        min_ranking_score: float = 0.0,
        stride: int = 1,
        antialias: bool = False,
        group: str = "average",
        overlap: float = 0.3,
        angles: Sequence[float] = (0.0,),
        near_misses: int = 0,
        n_threads: int | None = None,
        region: Sequence[int] | None = None,
        mask: NDArray[Any] | None = None,
    ) -> Detections:
        """Find the object by dense detection; for many pictures, keep a `vjcascade.DenseDetector`.

        Parameters
        ----------
        image : ndarray
            As for `detect`.
        scale_factor, min_neighbors, min_size, max_size, min_ranking_score : optional
            As for `detect`, except that nothing is found if no scale lies between `min_size` and `max_size`.
        stride, antialias, group, overlap, angles, near_misses : optional
            As for `vjcascade.DenseDetector`.
        n_threads : int, optional
            All processors if not given. Results do not depend on it.
        region : sequence of int, optional
            `x, y, w, h` in pixels: search only there.
        mask : ndarray of shape (h, w), dtype bool or uint8, optional
            Whether windows may have their centre at each pixel of the picture.

        Returns
        -------
        Detections
            Best first.

        Raises
        ------
        SettingsError
            If a setting is out of range.
        ValueError or TypeError
            If `image` is not a picture.

        Examples
        --------
        >>> picture = np.random.default_rng(1).integers(0, 256, (24, 25), np.uint8)
        >>> Cascade(Size(24, 24)).detect_dense(picture, min_neighbors=1).neighbors.tolist()
        [2]
        """
        from vjcascade.detection import detect_dense

        return detect_dense(
            image,
            self,
            scale_factor=scale_factor,
            min_neighbors=min_neighbors,
            min_size=min_size,
            max_size=max_size,
            min_ranking_score=min_ranking_score,
            stride=stride,
            antialias=antialias,
            group=group,
            overlap=overlap,
            angles=angles,
            near_misses=near_misses,
            n_threads=n_threads,
            region=region,
            mask=mask,
        )


def _is_of_stage(record: Any, n: int) -> bool:
    """Tell whether a record is of one of the first stages."""
    stage = record.get("stage") if isinstance(record, Mapping) else None
    return isinstance(stage, int) and 1 <= stage <= n


def _shared_features(
    known: NDArray[np.void], wanted: NDArray[np.void]
) -> tuple[NDArray[np.void], NDArray[np.int32]]:
    """Return `known` plus what is new in `wanted`, and where each wanted feature lies in it."""
    position = {feature.tobytes(): index for index, feature in enumerate(known)}
    added: list[np.void] = []
    indices = np.empty(len(wanted), np.int32)
    for i, feature in enumerate(wanted):
        key = feature.tobytes()
        if key not in position:
            position[key] = len(known) + len(added)
            added.append(feature)
        indices[i] = position[key]
    return np.concatenate([known, np.array(added, known.dtype)]), indices


def _check_arrays(cascade: Cascade) -> None:
    """Refuse arrays of another kind than documented, and numbers that are not finite."""
    feature_dtype, node_dtype = DTYPES[cascade.feature_type]
    for name, dtype in (
        ("features", feature_dtype),
        ("nodes", node_dtype),
        ("tree_starts", np.dtype(np.int32)),
        ("leaves", np.dtype(np.float32)),
        ("stage_starts", np.dtype(np.int32)),
        ("stage_thresholds", np.dtype(np.float32)),
    ):
        array = getattr(cascade, name)
        if array.ndim != 1 or array.dtype != dtype:
            raise ModelError(f"{name} must be a 1-D array of {dtype}, not {array.ndim}-D of {array.dtype}")
    numbers = [("leaf value", cascade.leaves), ("stage threshold", cascade.stage_thresholds)]
    if cascade.feature_type is FeatureType.HAAR:
        numbers.append(("rectangle weight", cascade.features["weights"].ravel()))
        numbers.append(("node threshold", cascade.nodes["threshold"]))
    for name, values in numbers:
        if not np.isfinite(values).all():
            raise ModelError(f"a {name} is not a finite number")


def _check_cells(window: Size, features: NDArray[np.void]) -> None:
    """Refuse LBP features whose 3x3 cells do not all lie in the window; OpenCV only looks at the first."""
    x, y, w, h = features["cell"].astype(np.int64).T
    fits = (
        (x >= 0) & (y >= 0) & (w > 0) & (h > 0) & (x + 3 * w <= window.width) & (y + 3 * h <= window.height)
    )
    if not fits.all():
        feature = np.flatnonzero(~fits)[0]
        raise ModelError(
            f"feature {feature}: three by three cells {features['cell'][feature].tolist()} (x, y, w, h) do not lie "
            f"in the {window} window"
        )


def _check_rectangles(window: Size, features: NDArray[np.void]) -> None:
    """Refuse rectangles that a scan could not evaluate inside its integral image.

    The first two must be there, the third may be absent.
    """
    rects = features["rects"].astype(np.int64)
    x, y, w, h = (rects[..., i] for i in range(4))
    present = (features["weights"] != 0) | (rects != 0).any(axis=-1)
    tilted = features["tilted"][:, None]
    left, right = np.where(tilted, x - h, x), x + w
    bottom = np.where(tilted, y + w + h, y + h)
    fits = (left >= 0) & (y >= 0) & (w > 0) & (h > 0) & (right <= window.width) & (bottom <= window.height)
    wrong = present & ~fits
    wrong[:, :2] |= ~present[:, :2]
    if wrong.any():
        feature, rect = np.argwhere(wrong)[0]
        raise ModelError(
            f"feature {feature}: rectangle {rects[feature, rect].tolist()} (x, y, w, h"
            f"{', tilted' if tilted[feature, 0] else ''}) does not lie in the {window} window"
        )


def _check_counts(cascade: Cascade) -> None:
    """Refuse trees, stages and leaves that do not add up."""
    for name, starts, n_items in (
        ("tree", cascade.tree_starts, len(cascade.nodes)),
        ("stage", cascade.stage_starts, cascade.n_trees),
    ):
        empty = np.flatnonzero(np.diff(starts.astype(np.int64)) < 1)
        if len(empty):
            raise ModelError(f"{name} {empty[0]} is empty")
        if len(starts) == 0 or starts[0] != 0 or starts[-1] != n_items:
            raise ModelError(f"{name}_starts must run from 0 to {n_items}")
    if len(cascade.leaves) != len(cascade.nodes) + cascade.n_trees:
        n_nodes, n_trees = len(cascade.nodes), cascade.n_trees
        raise ModelError(f"{len(cascade.leaves)} leaf values do not fit {n_nodes} nodes in {n_trees} trees")
    if len(cascade.stage_starts) != cascade.n_stages + 1:
        raise ModelError(
            f"{cascade.n_stages} stage thresholds do not fit {len(cascade.stage_starts) - 1} stages"
        )


def _check_children(cascade: Cascade) -> None:
    """Refuse nodes that lead to what is not there, back to themselves, or, in stumps, to swapped leaves."""
    nodes, sizes = cascade.nodes, np.diff(cascade.tree_starts)
    place = np.arange(len(nodes)) - np.repeat(cascade.tree_starts[:-1], sizes)
    sizes = np.repeat(sizes, sizes)
    for side in ("left", "right"):
        child = nodes[side].astype(np.int64)
        wrong = np.where(child > 0, (child <= place) | (child >= sizes), -child > sizes)
        if wrong.any():
            node = np.flatnonzero(wrong)[0]
            raise ModelError(
                f"node {node}: {side} child {child[node]} is not a later node or a leaf of its tree"
            )
    swapped = (sizes == 1) & ((nodes["left"] != 0) | (nodes["right"] != -1))
    if swapped.any():  # OpenCV does not look at the children of stumps
        raise ModelError(f"node {np.flatnonzero(swapped)[0]} is a stump, so its children must be 0 and -1")
    n_features = len(cascade.features)
    wrong = (nodes["feature"] < 0) | (nodes["feature"] >= n_features)
    if wrong.any():
        node = np.flatnonzero(wrong)[0]
        raise ModelError(
            f"node {node} has feature {nodes['feature'][node]}, but there are {n_features} features"
        )

"""What `opencv_traincascade` leaves in its folder before it is done: `params.xml`, and `stage0.xml` and so on.

Features of the stage files are places in the trainer's pool, which follows from window and mode; only its
`cascade.xml`, written at the end, tells rectangles. The weights are the trainer's own: 2 on the middle of upright
features of three cells, which do not balance.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vjcascade.cascade import Cascade, checked_window
from vjcascade.errors import ModelError, SettingsError
from vjcascade.features import HaarMode, haar_features_at, lbp_features_at
from vjcascade.formats import _tree as tree
from vjcascade.formats._source import read_model
from vjcascade.formats._storage import first_element
from vjcascade.formats._tree import Node, explained
from vjcascade.formats.new_format import ReadStage, cascade_of_stages, read_kind, read_settings, read_stage
from vjcascade.messages import pluralize
from vjcascade.types import FeatureType, Size

PARAMETERS_NAME = "params.xml"
"""The file that says how stages are trained."""

_STAGE = re.compile(r"stage(\d{1,9})\.xml")


@dataclass(frozen=True, eq=False)
class OpenCVRun:
    """A run of `opencv_traincascade`, as far as it came.

    Attributes
    ----------
    path : Path
        Its `params.xml`.
    settings : Mapping of str to str
        What that file says, by its own names: "featureType", "width", "height", "boostType", "minHitRate",
        "maxFalseAlarm", "weightTrimRate", "maxDepth", "maxWeakCount" and, of Haar features, "mode".
    cascade : Cascade
        The stages so far, maybe none; the features in them are those that the trainer's own `cascade.xml` would have.
    notes : tuple of str
        Stages that are there and do not count.
    """

    path: Path
    settings: Mapping[str, str]
    cascade: Cascade
    notes: tuple[str, ...] = ()

    def trained_cascade(self) -> Cascade:
        """Return the cascade, if it has a stage.

        Raises
        ------
        ModelError
            If it has none.
        """
        if self.cascade.n_stages == 0:
            raise ModelError(
                f"{self.path}: there is no stage0.xml beside it, so no stage is finished; "
                "give the folder of a run with a finished stage"
            )
        return self.cascade


def read_opencv_run(folder: Path) -> OpenCVRun:
    """Read `params.xml` and the stages beside it, up to the first that is missing, as OpenCV's trainer does.

    Parameters
    ----------
    folder : Path
        What `-data` named.

    Returns
    -------
    OpenCVRun
        Its stages so far.

    Raises
    ------
    ModelNotFoundError
        If there is no `params.xml`.
    ModelError
        If a file is damaged, is of another window or mode than `params.xml` says, or of a kind that is not supported;
        the message names the file.

    Examples
    --------
    >>> read_opencv_run(Path("nowhere"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    vjcascade.errors.ModelNotFoundError: ...
    """
    path = folder / PARAMETERS_NAME
    with explained(f"{path}: ", advice="; restore the file that opencv_traincascade wrote"):
        root = _contents(path)
        window, feature_type = read_kind(root)
        try:
            window = checked_window(window)
        except SettingsError as error:
            raise ModelError(str(error)) from None
        mode = None if feature_type is FeatureType.LBP else _mode(root)
    stages: list[ReadStage] = []
    while (file := folder / f"stage{len(stages)}.xml").exists():
        with explained(f"{file}: ", advice="; delete it, and training continues from the previous stage"):
            stages.append(_checked_stage(_contents(file), window, mode))
    cascade = _compacted(window, stages, mode) if stages else Cascade.empty(window, feature_type)
    size = {"featureType": str(feature_type), "width": str(window.width), "height": str(window.height)}
    return OpenCVRun(path, {**size, **read_settings(root)}, cascade, _notes(folder, len(stages)))


def _contents(path: Path) -> Node:
    data = read_model(path)
    if not data.strip():
        raise ModelError("the file is empty")
    return first_element(data)[1]


def _mode(root: Node) -> HaarMode:
    text = tree.words(tree.child(root, "featureParams"), "mode")
    try:
        return HaarMode(" ".join(text).lower())
    except ValueError:
        raise ModelError(f"mode {' '.join(text)[:40]!r} is not BASIC, CORE or ALL") from None


def _checked_stage(node: Node, window: Size, mode: HaarMode | None) -> ReadStage:
    """Read a stage that is one by itself: of features in the pool, and of trees that are whole."""
    stage = read_stage(node, "the stage", is_lbp=mode is None)
    try:
        _compacted(window, [stage], mode)
    except IndexError as error:
        pool = "LBP" if mode is None else f"mode {mode.upper()}"
        raise ModelError(f"{error} of {window} windows, {pool}, named in params.xml") from None
    return stage


def _features_at(places: NDArray[np.int64], window: Size, mode: HaarMode | None) -> NDArray[np.void]:
    if mode is None:
        return lbp_features_at(places, window)
    return haar_features_at(places, window, mode, balanced=False)


def _compacted(window: Size, stages: list[ReadStage], mode: HaarMode | None) -> Cascade:
    """Return the cascade with the features that it uses, each once, in the order of the pool."""
    places = np.unique(np.concatenate([stage.nodes["feature"] for stage in stages]).astype(np.int64))
    renumbered = [stage._replace(nodes=stage.nodes.copy()) for stage in stages]
    for stage in renumbered:
        stage.nodes["feature"] = np.searchsorted(places, stage.nodes["feature"])
    return cascade_of_stages(window, _features_at(places, window, mode), renumbered, {})


def _notes(folder: Path, n_stages: int) -> tuple[str, ...]:
    numbers = [int(name[1]) for file in folder.iterdir() if (name := _STAGE.fullmatch(file.name))]
    if not (behind := [number for number in numbers if number > n_stages]):
        return ()
    files = pluralize(len(behind), "stage file")
    return (f"there is no stage{n_stages}.xml: {files} with a higher number in {folder} are ignored",)

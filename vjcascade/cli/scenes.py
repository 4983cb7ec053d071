"""Scenes to test on and what counts as a hit there: options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from vjcascade.cli.options import FlagOption
from vjcascade.errors import SourceError

if TYPE_CHECKING:
    from vjcascade.evaluation import MatchingRule, Scenes


@Parameter(name="*")
@dataclass(frozen=True)
class SceneOptions:
    """Which pictures and boxes of the scenes count.

    Attributes
    ----------
    label : str
        The kind of object, if the boxes have several. Pictures with only other kinds count as without objects.
    pictures : path
        Folder to look for the pictures in first; otherwise beside the boxes.
    all_pictures : bool
        Count pictures of the folder without boxes as scenes without objects.
    """

    label: str | None = None
    pictures: Path | None = None
    all_pictures: FlagOption = False

    def read(self, source: Path) -> Scenes:
        """Read the scenes of a source; see `vjcascade.evaluation.read_scenes`."""
        from vjcascade.evaluation import read_scenes

        try:
            return read_scenes(
                source, pictures=self.pictures, category=self.label, all_pictures=self.all_pictures
            )
        except SourceError as error:
            if self.pictures is not None or ": not found in " not in str(error):
                raise
            raise SourceError(
                f"{error}\n  if the pictures are elsewhere, name their folder: --pictures FOLDER"
            ) from None


@Parameter(name="*")
@dataclass(frozen=True)
class HitOptions:
    """What counts as a hit.

    Attributes
    ----------
    rule : str
        What makes a detection a hit: iou (intersection over union), voc, viola-jones (centre and size), uiuc,
        uiuc-scale, fddb-discrete or fddb-continuous.
    min_overlap : float
        For iou and voc: lowest intersection over union with a true box for a hit.
    aspect : float
        For iou: change boxes to this aspect ratio before comparing them, for example 4.4 for licence plates.
    """

    rule: str = "iou"
    min_overlap: Annotated[float | None, Parameter(show_default="0.5")] = None
    aspect: float | None = None

    @property
    def chosen(self) -> MatchingRule:
        """The rule with its settings."""
        from vjcascade.evaluation import matching_rule

        return matching_rule(self.rule, min_overlap=self.min_overlap, aspect=self.aspect)

"""The state behind the page: photos, their boxes, a model, and background tasks; results are plain values."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from vjcascade.boosters.calibration import PlattScaling
from vjcascade.errors import ImageError, SettingsError
from vjcascade.evaluation import Candidate
from vjcascade.formats.annotations.writing import WRITABLE, write_annotations
from vjcascade.labelling.changes import Change, MarkDone, RejectPlace, decoded_changes
from vjcascade.labelling.hub import Hub
from vjcascade.labelling.live import Kind, LiveDetector, LiveFound, LiveSettings, keep_frame
from vjcascade.labelling.models import load_candidate
from vjcascade.labelling.ordering import Order, Worth, ordered, worth
from vjcascade.labelling.photos import Photos
from vjcascade.labelling.pictures import Copy, Cut, Pictures, copies_inside
from vjcascade.labelling.proposals import SURE, Found, Proposer
from vjcascade.labelling.retraining import CURRENT, Retrainer, Start, Task
from vjcascade.labelling.reviewing import Mistake, Reviewer, cut_around
from vjcascade.labelling.store import Store
from vjcascade.types import Size

SECONDS_BETWEEN_ORDERS = 2.0
"""While photos are searched, at most one "order" event is sent in this time."""

FIRST_PHOTOS, FIRST_ROOM = 12, Size(1024, 768)
"""Photos and screen size for which copies are prepared before a page has requested any."""

KEPT_WORTH = 1e9
"""Frames saved in the Live tab come before all other photos."""


class ExportRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to export the boxes.

    Attributes
    ----------
    kind : str
        The format.
    """

    kind: str


class AheadRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The photos that a page will show next.

    Attributes
    ----------
    names : list of str
        Photos in their order.
    width, height : int
        Screen pixels available to each photo.
    """

    names: Annotated[list[str], Meta(max_length=200)]
    width: Annotated[int, Meta(ge=1, le=2**15)]
    height: Annotated[int, Meta(ge=1, le=2**15)]


class TrainRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request to train a model.

    Attributes
    ----------
    start : str
        "fresh" or "continue".
    label : str
        The kind of object.
    """

    start: Start
    label: str


@dataclass(frozen=True)
class SessionOptions:
    """Settings of a session.

    Attributes
    ----------
    model : Path or None
        Model that proposes boxes.
    labels : tuple of str
        Kinds of objects that can be chosen.
    negatives : tuple of Path
        Photos without the object, for training.
    tab : str
        The tab that is shown first.
    """

    model: Path | None = None
    labels: tuple[str, ...] = ()
    negatives: tuple[Path, ...] = ()
    tab: str = "label"


class Session:
    """The state that all pages of a server share.

    Parameters
    ----------
    photos : Photos
        The photos.
    store : Store
        Their boxes.
    options : SessionOptions
        The model and other settings.

    Raises
    ------
    ModelError
        If the model cannot be used.
    """

    def __init__(self, photos: Photos, store: Store, options: SessionOptions) -> None:
        self.hub = Hub()
        self.photos = photos
        self.store = store
        self._options = options
        self._pictures = Pictures(photos)
        self._kept: dict[str, str] = {}
        self._order_told = 0.0
        self._known_worths: dict[str, tuple[Found | None, Worth]] = {}
        self._worths_at: PlattScaling | None = None
        for label in options.labels:
            store.add_label(label)
        self._model: Path | None = None
        self._candidate: Candidate | None = None
        self._live: LiveDetector | None = None
        self._proposer = Proposer(photos, store, self._photo_searched)
        self._reviewer = Reviewer(lambda: self.hub.publish("review"), self._prepare)
        self._retrainer = Retrainer(store, lambda: self.hub.publish("train"), self._use_better)
        self._pictures.expect(copies_inside(photos, list(photos)[:FIRST_PHOTOS], FIRST_ROOM))
        try:
            if options.model is not None:
                self._use(options.model)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Stop all background tasks."""
        self.hub.close()
        self._retrainer.close()
        self._proposer.close()
        self._pictures.close()

    # Read by pages

    def state(self) -> dict[str, Any]:
        """Return what a page needs to start."""
        window = self._candidate.cascade.window if self._candidate else None
        return {
            "folder": str(self.photos.folder.absolute()),
            "file": str(self.store.path),
            "labels": self.store.names_of_labels or ["object"],
            "model": None if self._model is None else str(self._model),
            "aspect": window.width / window.height if window else None,
            "tab": self._options.tab,
            "notes": list(self.photos.notes),
            "formats": list(WRITABLE),
            "sure": SURE,
            "review": self._reviewer.state,
            "train": self._retrainer.state,
            **self.counts(),
        }

    def counts(self) -> dict[str, int]:
        """Return how many photos and boxes there are, and how many photos are done and searched."""
        summary = self.store.summary()
        known = [summary[name] for name in self.photos if name in summary]
        return {
            "n_photos": len(self.photos),
            "n_done": sum(done for done, _ in known),
            "n_boxes": sum(n for _, n in known),
            "n_searched": self._proposer.n_searched if self._proposer.has_model else len(self.photos),
        }

    def queue(self, order: Order) -> list[tuple[str, bool, int, str]]:
        """Return all photos in this order: name, whether it is done, number of boxes, reason for its place."""
        summary = self.store.summary()
        names = list(self.photos)
        worths = self._worths(names) if self._proposer.has_model else {name: Worth(0.0, "") for name in names}
        worths |= {name: Worth(KEPT_WORTH, reason, KEPT_WORTH) for name, reason in self._kept.items()}
        rows = ((name, *summary.get(name, (False, 0))) for name in ordered(names, worths, order))
        return [(name, done, n_boxes, "" if done else worths[name].reason) for name, done, n_boxes in rows]

    def photos_named(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return boxes and proposals of photos; for one that cannot be read, the problem."""
        return [self._photo(name) for name in names]

    def _photo(self, name: str) -> dict[str, Any]:
        try:
            labels = self.store.labels(name)
        except ImageError as error:
            return {"name": name, "problem": str(error)}
        proposals = self._proposer.proposals(name, labels)
        if proposals is None:
            self._proposer.hurry([name])
        return {
            "name": name,
            "width": labels.size.width,
            "height": labels.size.height,
            "done": labels.done,
            "use": labels.use,
            "revision": labels.revision,
            "boxes": [msgspec.to_builtins(box) for box in list(labels.boxes.values())],
            "false_alarms": [list(place) for place in labels.false_alarms],
            "proposals": None if proposals is None else [asdict(one) for one in proposals],
        }

    def picture(self, name: str, side: int) -> bytes:
        """Return a copy of a photo as JPEG; its longer side has at least `side` pixels where the photo has them."""
        return self._pictures.get(Copy.of_side(name, side))

    def expect(self, request: AheadRequest) -> None:
        """Prepare copies of photos that a page will show next."""
        names = [name for name in request.names if name in self.photos]
        self._pictures.expect(copies_inside(self.photos, names, Size(request.width, request.height)))

    def mistakes(self) -> list[dict[str, Any]]:
        """Return the errors that the review has found."""
        return [
            {
                **asdict(one),
                "cut": list(self._cut(one).box),
                "use": self.store.labels(one.photo).use,
            }
            for one in self._reviewer.mistakes
        ]

    def mistake_pictures(self, numbers: Sequence[int]) -> list[bytes]:
        """Return crops of errors as JPEG files; an empty one if the photo cannot be read."""
        return self._pictures.cuts([self._cut(self._mistake(number)) for number in numbers])

    # Changed by pages

    def apply(self, data: bytes) -> dict[str, Any]:
        """Apply encoded changes; return once they are on disk."""
        return self.change(decoded_changes(data))

    def change(self, changes: Sequence[Change]) -> dict[str, Any]:
        """Apply changes and notify all pages; return once they are on disk."""
        changed = self.store.apply(changes)
        for name in changed:
            self.hub.publish("photo", name=name, revision=self.store.labels(name).revision)
        for change in changes:
            if isinstance(change, MarkDone) and change.done:
                self._kept.pop(change.photo, None)
        return {"revision": self.store.revision, **self.counts()}

    def export(self, kind: str) -> dict[str, Any]:
        """Write the boxes of photos that are done in another format, beside the file of boxes."""
        if kind not in WRITABLE:
            raise SettingsError(f"{kind!r:.50} is not a format; choose one of {', '.join(WRITABLE)}")
        pictures = self.store.pictures()
        if not pictures:
            raise SettingsError("no photo is marked as done: mark the photos in which every object has a box")
        path = self.store.path.parent / f"exported-{kind}{WRITABLE[kind]}"
        write_annotations(path, pictures, kind)
        return {"path": str(path), "n_photos": len(pictures)}

    def start_review(self) -> None:
        """Search for errors of the model on photos that are done."""
        self._reviewer.start(self._needed(), self.store.pictures(), self.store.path.name)

    def start_training(self, request: TrainRequest) -> None:
        """Train a model on photos that are done."""
        self._retrainer.start(Task(request.start, request.label, self._model, self._options.negatives))

    def stop_training(self) -> None:
        """Stop training."""
        self._retrainer.stop()

    def training(self) -> dict[str, Any]:
        """Return the progress and result of training."""
        return self._retrainer.state

    def reviewing(self) -> dict[str, Any]:
        """Return the progress of the review."""
        return self._reviewer.state

    def detect_live(self, pixels: bytes, settings: LiveSettings) -> LiveFound:
        """Find the object in a frame."""
        self._needed()
        if self._live is None:
            raise SettingsError("there is no model")
        return self._live.detect(pixels, settings)

    def keep_live(self, data: bytes, kind: Kind, boxes: Sequence[Sequence[float]]) -> dict[str, Any]:
        """Save a frame as a photo; if it is kept for its false alarms, all its boxes are rejected.

        Parameters
        ----------
        data : bytes
            A PNG or JPEG file.
        kind : str
            "miss" or "false-alarm".
        boxes : sequence
            The detections, in pixels of the frame.

        Returns
        -------
        dict
            The name of the photo.
        """
        name = self.photos.add(keep_frame(self.photos.folder, data, kind))
        self._kept[name] = "live frame: " + ("an object was missed" if kind == "miss" else "a false alarm")
        if kind == "false-alarm":
            places = [(float(x), float(y), float(w), float(h)) for x, y, w, h in boxes]
            self.change([*(RejectPlace(name, place) for place in places), MarkDone(name, done=False)])
        self._proposer.add(name)
        self.hub.publish("order")
        return {"name": name, **self.counts()}

    # Internals

    def _worths(self, names: Sequence[str]) -> dict[str, Worth]:
        """Return what photos are worth; computed again only for new search results or a new calibration."""
        scaling = self._proposer.scaling()
        found = {name: self._proposer.found(name) for name in names}
        known = self._known_worths if self._worths_at is scaling else {}
        kept = {name: known[name] for name in names if name in known and known[name][0] is found[name]}
        worths = kept | {
            name: (found[name], worth(found[name], scaling)) for name in names if name not in kept
        }
        self._known_worths, self._worths_at = worths, scaling
        return {name: value for name, (_, value) in worths.items()}

    def _needed(self) -> Candidate:
        if self._candidate is None:
            raise SettingsError("there is no model yet: train one, or start vjcascade label with --model")
        return self._candidate

    def _mistake(self, number: int) -> Mistake:
        found = self._reviewer.mistakes
        if not 0 <= number < len(found):
            raise SettingsError("there is a newer review: load the page again")
        return found[number]

    def _cut(self, mistake: Mistake) -> Cut:
        return Cut(mistake.photo, cut_around(mistake, self.photos.size(mistake.photo)))

    def _prepare(self, found: Sequence[Mistake]) -> None:
        """Make the crops of errors before they are shown."""
        self._pictures.cuts([self._cut(one) for one in found])

    def _use(self, path: Path) -> None:
        candidate = load_candidate(path, CURRENT)
        self._model, self._candidate, self._live = path, candidate, LiveDetector(candidate)
        self._proposer.use(candidate.cascade, {"scale_factor": candidate.detector.scale_factor})

    def _use_better(self, path: Path) -> None:
        self._use(path)
        self.hub.publish("model", model=str(path))

    def _photo_searched(self, name: str) -> None:
        self.hub.publish("proposals", name=name)
        now = time.monotonic()
        counts = self.counts()
        if now - self._order_told > SECONDS_BETWEEN_ORDERS or counts["n_searched"] == counts["n_photos"]:
            self._order_told = now
            self.hub.publish("order", **counts)

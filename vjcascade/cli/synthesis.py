"""What ``vjcascade samples`` makes from crops or one picture: altered samples, scenes, contact sheets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from cyclopts import Parameter
from cyclopts.validators import Number

from vjcascade.cli.options import FlagOption, WholeOption
from vjcascade.errors import SettingsError, SourceError
from vjcascade.files import real_path
from vjcascade.messages import pluralize
from vjcascade.synthesis.alterations import Alterations
from vjcascade.training.settings import Mirror

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from vjcascade.synthesis.originals import Originals
    from vjcascade.training.data.backgrounds import BackgroundImages
    from vjcascade.training.data.positives import Positives
    from vjcascade.types import Size

_SUFFIX = ".vec"

_OF_ONE_PICTURE = 1000
"""Default number of altered samples of one picture, as in `opencv_createsamples`."""

_ON_A_SHEET = 96
"""Default number of altered samples if only a sheet is drawn."""

_MOST, _MOST_OBJECTS = 1_000_000, 100
"""Limits that catch typing errors: samples or scenes, and objects in a scene."""

GreyLevel = Annotated[WholeOption, Parameter(validator=Number(gte=0, lte=255))]


class SceneFormat(StrEnum):
    """How the boxes of scenes are written."""

    LIST = "list"
    COCO = "coco"
    YOLO = "yolo"
    VOC = "voc"
    CSV = "csv"


@Parameter(name="*")
@dataclass(frozen=True)
class SynthesisOptions:
    """What to make from the crops, or from one picture.

    Attributes
    ----------
    make : int
        Number of altered samples, or of scenes. If not given, 1000 samples of one picture, or a scene for each photo.
    scenes : bool
        Make synthetic scenes with known boxes instead of samples: the object pasted into --photos.
    photos : path
        Photos without the object, as for vjcascade train: backgrounds of scenes, or of a picture of which
        a part is transparent.
    sheet : path
        Picture file to draw the first samples or scenes in. Without OUTPUT, nothing else is written.
    transparent : int
        Grey level, from 0 to 255, that is transparent in the one picture; a transparent PNG needs none.
    tolerance : int
        Grey levels within this distance of --transparent are transparent, too; 80 if not given.
    mirror : Mirror
        Mirror half of the copies: auto (if crops look like their mirror images), yes or no.
    max_objects : int
        Maximum number of objects in a scene; 3 if not given.
    max_scale : float
        Largest objects in scenes, as a multiple of the window; 0.7 of the photo if not given.
    format : SceneFormat
        Format for the boxes of scenes, in addition to the list: coco, yolo, voc or csv.
    seed : int
        Random seed: the same seed gives the same files.
    """

    make: Annotated[WholeOption | None, Parameter(validator=Number(gte=1, lte=_MOST))] = None
    scenes: FlagOption = False
    photos: Path | None = None
    sheet: Path | None = None
    transparent: GreyLevel | None = None
    tolerance: GreyLevel | None = None
    mirror: Mirror = Mirror.AUTO
    max_objects: Annotated[WholeOption | None, Parameter(validator=Number(gte=1, lte=_MOST_OBJECTS))] = None
    max_scale: Annotated[float | None, Parameter(validator=Number(gte=1))] = None
    format: SceneFormat = SceneFormat.LIST
    seed: Annotated[WholeOption, Parameter(validator=Number(gte=0))] = 0

    def is_asked(self, positives: Path) -> bool:
        """Return whether samples or scenes are to be made, rather than unaltered crops written."""
        return bool(self.make or self.scenes or self.sheet) or _is_picture(positives)


class Reading(NamedTuple):
    """How sources are read, and where progress is shown.

    Attributes
    ----------
    load : callable
        `load_positives` with its options, which prints its report.
    limit : int or None
        Largest number of crops that are used.
    show : callable
        Called as `show(what, n_done, n_total)`.
    threads : int or None
        Processors.
    strict : bool
        Whether photos that cannot be used are an error.
    label : str or None
        The kind of object.
    """

    load: Callable[..., Positives]
    limit: int | None
    show: Callable[[str, int, int], None]
    threads: int | None
    strict: bool
    label: str | None


def refuse_for_one_picture(positives: Path, given: Mapping[str, object]) -> None:
    """Refuse options that select crops if the source is one picture.

    Parameters
    ----------
    positives : Path
        What will be read.
    given : mapping of str to object
        Values of such options; None where one is not given.

    Raises
    ------
    SettingsError
        If one is given for a picture.
    """
    unused = [name for name, value in given.items() if value is not None]
    if unused and _is_picture(positives):
        have, them = ("have", "them") if len(unused) > 1 else ("has", "it")
        raise SettingsError(
            f"{positives} is one picture, so {' and '.join(unused)} {have} no effect: leave {them} out, or "
            "give a folder of crops or annotations"
        )


def check_outputs(positives: Path, output: Path | None, options: SynthesisOptions) -> None:
    """Check output files and combinations of options before anything is read.

    Parameters
    ----------
    positives : Path
        What will be read.
    output : Path or None
        What will be written.
    options : SynthesisOptions
        What will be made.

    Raises
    ------
    SettingsError
        If an output cannot be written, or options contradict each other.
    """
    from vjcascade.cli.outputs import check_output_file, refuse_overwriting
    from vjcascade.imaging import IMAGE_SUFFIXES

    _check_together(output, options)
    if options.sheet is not None:
        if options.sheet.suffix.lower() not in IMAGE_SUFFIXES:
            raise SettingsError(f"--sheet {options.sheet}: give a name that ends in .png")
        check_output_file(options.sheet)
    if output is not None:
        check_output_file(output) if is_vec_name(output) else _check_folder(output)
    targets = [path for path in (output, options.sheet) if path]
    refuse_overwriting(targets, kept=[positives])
    for path, source in product(targets, (positives, options.photos)):
        if source and not is_vec_name(path) and real_path(path).is_relative_to(real_path(source)):
            raise SettingsError(
                f"{path} is inside {source}, so the next run would read it as a picture; write it elsewhere"
            )


def _check_together(output: Path | None, options: SynthesisOptions) -> None:
    if output is None and options.sheet is None:
        raise SettingsError(f"give an output: a file that ends in {_SUFFIX}, or a folder; or --sheet")
    if options.scenes and options.photos is None:
        raise SettingsError("--scenes needs photos without the object: give them with --photos FOLDER")
    if options.scenes and output is not None and is_vec_name(output):
        raise SettingsError(f"{output}: scenes are written into a folder; give a name without {_SUFFIX}")
    if not options.scenes and (options.max_objects or options.max_scale):
        raise SettingsError("--max-objects and --max-scale need --scenes: add it, or leave them out")
    if not options.scenes and options.format is not SceneFormat.LIST:
        raise SettingsError(f"--format {options.format.value} needs --scenes: add it, or leave --format out")


def _check_folder(folder: Path) -> None:
    if folder.suffix[1:].isalpha() and not folder.is_dir():
        raise SettingsError(
            f"{folder}: samples are written to a {_SUFFIX} file or a folder; give a name with this suffix or with none"
        )
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SettingsError(f"{folder} already exists; give the name of a new folder, or remove it")


def synthesize(
    positives: Path,
    output: Path | None,
    window: Size | None,
    options: SynthesisOptions,
    alterations: Alterations,
    reading: Reading,
) -> Iterator[str]:
    """Make samples or scenes, and draw or write them.

    Parameters
    ----------
    positives : Path
        Crops, or one picture.
    output : Path or None
        File or folder to write.
    window : Size or None
        Size of samples; None to choose one.
    options : SynthesisOptions
        What to make.
    alterations : Alterations
        Ranges of the alterations.
    reading : Reading
        How to read the sources.

    Yields
    ------
    str
        Lines to print.
    """
    from vjcascade.synthesis import read_originals

    to_paste = options.photos is not None and _is_picture(positives)
    sources = read_originals(
        positives,
        window,
        transparent=options.transparent,
        tolerance=options.tolerance,
        as_cutout=to_paste,
        mirror=options.mirror,
        limit=reading.limit,
        load=reading.load,
    )
    yield from sources.lines
    if options.photos is not None and not (options.scenes or sources.has_cutouts):
        raise SettingsError(
            "--photos is for --scenes, or for the background of one picture; crops have their own surroundings: leave "
            "it out"
        )
    photos = None if options.photos is None else _photos(options.photos, sources, reading)
    yield from () if photos is None else photos.report.lines()
    make = _scenes if options.scenes else _samples
    yield from make(output, sources, photos, options, alterations, reading)


def _samples(
    output: Path | None,
    sources: Originals,
    photos: BackgroundImages | None,
    options: SynthesisOptions,
    alterations: Alterations,
    reading: Reading,
) -> Iterator[str]:
    from vjcascade.formats.annotations.opencv_lists import LIST_NAME
    from vjcascade.synthesis.samples import SampleMaker, sample_windows, write_samples

    maker = SampleMaker(sources, alterations, options.seed, photos)
    n_samples = options.make or (_OF_ONE_PICTURE if len(sources) == 1 else 0)
    if options.sheet is not None:
        from vjcascade.synthesis.sheets import sheet_of_samples

        yield _drawn(options.sheet, sheet_of_samples(maker, n_samples or _ON_A_SHEET))
    if output is None:
        return

    def progress(done: int, total: int) -> None:
        reading.show("making samples", done, total)

    if is_vec_name(output):
        windows = sample_windows(maker, n_samples, reading.threads, progress)
        n_written = len(windows)
        yield from write_windows(output, windows, sources.window)
        yield (
            f"  note: a {_SUFFIX} does not record which samples come from one original, so copies of held-out samples "
            "are trained on; write a folder if you train with vjcascade"
        )
    else:
        n_written = write_samples(output, maker, n_samples, n_threads=reading.threads, progress=progress)
        yield f"written: {output} ({pluralize(n_written, 'sample')} of {sources.window} pixels, and their list)"
        no_more = " --copies 0" if n_samples else ""
        yield f"  to train on them: vjcascade train {output / LIST_NAME} PHOTOS --window {sources.window}{no_more}"
    if n_missing := n_samples + sum(not one.is_cutout for one in sources.originals) - n_written:
        yield f"  note: {pluralize(n_missing, 'sample')} left out, as they had too little contrast"
    if n_samples:
        yield from _no_new_data(sources)


def _scenes(
    output: Path | None,
    sources: Originals,
    photos: BackgroundImages | None,
    options: SynthesisOptions,
    alterations: Alterations,
    reading: Reading,
) -> Iterator[str]:
    from vjcascade.formats.annotations.opencv_lists import LIST_NAME
    from vjcascade.synthesis.scenes import MAX_OBJECTS, SceneMaker, without_objects, write_scenes

    if photos is None:  # already refused
        return
    photos = without_objects(photos)
    max_objects = options.max_objects or MAX_OBJECTS
    maker = SceneMaker(sources, alterations, photos, options.seed, max_objects, options.max_scale)
    n_scenes = options.make or len(photos)
    if options.sheet is not None:
        from vjcascade.synthesis.sheets import sheet_of_scenes

        yield _drawn(options.sheet, sheet_of_scenes(maker, n_scenes))
    if output is None:
        return
    n_objects = write_scenes(
        output,
        maker,
        n_scenes,
        kind=None if options.format is SceneFormat.LIST else options.format.value,
        label=reading.label or "object",
        n_threads=reading.threads,
        progress=lambda done, total: reading.show("making scenes", done, total),
    )
    yield f"written: {output} ({pluralize(n_scenes, 'scene')} with {pluralize(n_objects, 'object')}, and their list)"
    yield f"  to evaluate on them: vjcascade evaluate MODEL {output / LIST_NAME}"
    yield "  note: synthetic scenes may be easier or harder than real ones: judge a model only on real ones"


def _photos(source: Path, sources: Originals, reading: Reading) -> BackgroundImages:
    from vjcascade.training.data.backgrounds import open_background_images

    return open_background_images(
        source,
        sources.window,
        n_threads=reading.threads,
        strict=reading.strict,
        not_these=sources.digests,
        progress=lambda done, total: reading.show("reading photos", done, total),
    )


def _no_new_data(sources: Originals) -> Iterator[str]:
    n = len(sources)
    one_by_one = "nothing can be held out, and " if n == 1 else ""
    yield (
        f"  note: these are copies of {pluralize(n, 'original')}, not new data: {one_by_one}only pictures of other "
        "objects and real scenes show how good a model is"
    )


def write_windows(path: Path, windows: NDArray[np.uint8], window: Size) -> Iterator[str]:
    """Write a `.vec`, and describe it.

    Parameters
    ----------
    path : Path
        The file.
    windows : ndarray of shape (n, height, width), dtype uint8
        Samples.
    window : Size
        Size of each.

    Yields
    ------
    str
        Lines to print.
    """
    from vjcascade.formats.annotations.vec_files import write_vec

    write_vec(path, windows)
    yield f"written: {path} ({pluralize(len(windows), 'sample')} of {window} pixels)"
    if not _is_guessed(path, window):
        yield (
            f"  note: a {_SUFFIX} does not contain width and height, and these samples look like another size: give "
            f"--window {window} when you use them"
        )


def _drawn(path: Path, sheet: NDArray[np.uint8]) -> str:
    from vjcascade.imaging import write_image

    write_image(path, sheet)
    return f"drawn: {path}"


def is_vec_name(path: Path) -> bool:
    """Return whether a file name is that of a `.vec`.

    Examples
    --------
    >>> is_vec_name(Path("a.VEC")), is_vec_name(Path("vec"))
    (True, False)
    """
    return path.suffix.lower() == _SUFFIX


def _is_picture(path: Path) -> bool:
    from vjcascade.synthesis.originals import is_picture

    return is_picture(path)


def _is_guessed(file: Path, size: Size) -> bool:
    """Return whether the size of samples is guessed correctly without `--window`."""
    from vjcascade.formats.annotations.vec_files import read_vec

    try:
        return read_vec(file).size == size
    except SourceError:
        return False

"""``vjcascade negatives``."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from cyclopts.validators import Number

from vjcascade.cli.options import WHOLE, CountOption
from vjcascade.cli.process import ExitCode, code_of
from vjcascade.errors import ImageError, SettingsError
from vjcascade.files import real_path
from vjcascade.messages import one_line, pluralize, printable

if TYPE_CHECKING:
    from vjcascade.cascade import Cascade
    from vjcascade.cli.console import PlainConsole, ProgressLine
    from vjcascade.cli.inputs import Input, Shot
    from vjcascade.detection import Detector


def negatives(
    model: Path,
    /,
    *sources: Path,
    output: Annotated[Path, Parameter(alias="-o")] = Path("negatives"),
    every: CountOption = 1,
    min_neighbors: Annotated[int, WHOLE, Parameter(validator=Number(gte=0))] = 3,
    threads: CountOption | None = None,
) -> int:
    """Keep false alarms for training.

    Parameters
    ----------
    model : path
        Cascade file, as trained here or by OpenCV, folder of a training run, or name of a model on this machine.
    sources : path
        Videos, pictures and folders of pictures that do not show the object: every detection is a false alarm.
    output : path
        Folder for the pictures and frames with false alarms, as PNG files; files in it are kept.
    every : int
        Search every N-th frame of video files; 1 searches all.
    min_neighbors : int
        As in vjcascade detect: a false alarm needs more overlapping windows than this; 0 keeps more.
    threads : int
        Processors to use; all if not given. The result does not depend on it.

    Returns
    -------
    int
        Exit code.
    """
    from vjcascade.cascade import Cascade
    from vjcascade.cli.compiling import SECONDS_FOR_DETECTION, compile_notice
    from vjcascade.cli.inputs import find_inputs
    from vjcascade.cli.models import named_model
    from vjcascade.cli.outputs import output_folder
    from vjcascade.cli.process import start_compiler

    if not sources:
        raise SettingsError(f"give videos, pictures or folders without the object after the model, {model}")
    for source in sources:
        if real_path(output).is_relative_to(real_path(source)):
            raise SettingsError(
                f"--output {output} is inside {source}, which is searched: the next run would search its own pictures"
            )
    model = named_model(model)
    start_compiler()
    from vjcascade.detection import Detector

    cascade = Cascade.load(model)
    detector = Detector(cascade, min_neighbors=min_neighbors, n_threads=threads)
    for source in _trained_on(model, cascade, sources):
        name = printable(str(source))
        sys.stdout.write(
            f"note: the model was trained on {name}: photos that it has not seen teach it more\n"
        )
    inputs = find_inputs(sources, every)
    with output_folder(output, "--output"), compile_notice(SECONDS_FOR_DETECTION):
        code = _Harvest(detector, output).run(inputs, model)
    if code == ExitCode.DONE:
        output.mkdir(parents=True, exist_ok=True)  # gone again if there was nothing to keep
    return code


def _trained_on(model: Path, cascade: Cascade, sources: Sequence[Path]) -> list[Path]:
    """Return those of the sources that the run beside a model took its negatives from."""
    from vjcascade.training.history import read_history

    recorded = read_history(model.parent, cascade.window, []).sources
    names = [*recorded.get("negatives", ()), *recorded.get("more_negatives", ())]
    known = {real_path(Path(name)) for name in names}
    return [source for source in sources if real_path(source) in known]


class _Harvest:
    """Searches pictures that do not show the object, and keeps those with new false alarms."""

    def __init__(self, detector: Detector, folder: Path) -> None:
        from vjcascade.training.mining.false_alarms import DistinctFalseAlarms

        self._detector = detector
        self._folder = folder
        self._distinct = DistinctFalseAlarms()
        self._n_shots = self._n_alarms = self._n_with_alarms = self._n_kept = self._n_failed = 0

    def run(self, inputs: Sequence[Input], model: Path) -> ExitCode:
        """Search all; return how the program ends."""
        from vjcascade.cli.console import PlainConsole, ProgressLine

        console = PlainConsole(sys.stdout)
        code = ExitCode.DONE
        with ProgressLine(console, remaining="about") as progress:
            try:
                for source in inputs:
                    self._search(source, console, progress)
            except KeyboardInterrupt as interrupt:
                code = code_of(interrupt)
        if code:
            console.print("stopped; pictures kept so far remain")
        self._sum_up(console, model)
        return code or (ExitCode.WRONG_INPUT if self._n_failed else ExitCode.DONE)

    def _search(self, source: Input, console: PlainConsole, progress: ProgressLine) -> None:
        from vjcascade.training.events import Progress

        try:
            with closing(source.shots()) as shots:
                for shot in shots:
                    self._look_at(shot)
                    done, total = shot.frame or 0, max(shot.n_frames, (shot.frame or 0) + 1)
                    detail = f"{self._n_kept} kept of {pluralize(self._n_shots, 'picture')}"
                    progress.update(Progress(f"searching {source.short_name}", done, total, detail))
        except ImageError as error:
            self._n_failed += 1
            progress.clear()
            console.print(one_line(f"cannot be searched: {error}"))

    def _look_at(self, shot: Shot) -> None:
        from vjcascade.imaging import to_gray, write_image
        from vjcascade.training.data.sources import pixel_digest

        gray = to_gray(shot.image)
        found = self._detector.detect(gray)
        self._n_shots += 1
        self._n_alarms += len(found)
        self._n_with_alarms += len(found) > 0
        if self._distinct.add(gray, found.boxes):
            frame = "" if shot.frame is None else f"-{shot.frame:06}"
            digest = pixel_digest(gray)[:4].hex()  # one name for one picture, however often it is found
            write_image(self._folder / f"{Path(shot.name).stem}{frame}-{digest}.png", shot.image)
            self._n_kept += 1

    def _sum_up(self, console: PlainConsole, model: Path) -> None:
        n_stages = self._detector.scanners[0].cascade.n_stages
        console.print(
            f"searched: {self._n_shots}; false alarms: {self._n_alarms} in {self._n_with_alarms} of them; kept: "
            f"{pluralize(self._n_kept, 'picture')} in {self._folder}"
            + ("" if self._n_kept == self._n_with_alarms else "; the others show nothing new")
        )
        if self._n_kept:
            console.print(
                "train on them: vjcascade train CROPS PHOTOS "
                f"--continue {model} --more-negatives {self._folder} --stages {n_stages + 5} --output NEW; "
                "it says how many are left, and with --validate SCENES what that costs in recall"
            )

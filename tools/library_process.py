"""Detect with OpenCV or vjcascade in a process of its own, which stays alive and answers one request after the other.

`LibraryProcess` is the asking side. The answering side is this file as a program: ``python tools/library_process.py cv2`` or
``vjcascade``. For OpenCV it runs in an environment that needs to hold nothing but numpy and OpenCV. Requests and answers are
dicts of arrays in numpy's own file format.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np

LENGTH = 8
"""Bytes before each message that tell its length."""

COLUMNS = ("x", "y", "width", "height", "count", "level", "weight")
"""Columns of the rows that `compare` answers with."""

REST = 0.005
"""Seconds before each measurement, in which threads of the one before fall asleep."""


class LibraryError(RuntimeError):
    """A library could not do what it was asked for; the message is its own."""


class LibraryProcess:
    """A library in a process of its own.

    Parameters
    ----------
    python : path
        The interpreter of an environment that has the library.
    library : str
        "cv2" or "vjcascade".
    program : path, optional
        Another answering side, which calls `answer_requests`.
    """

    def __init__(self, python: Path | str, library: str, program: Path | str = __file__) -> None:
        alone = ["-I"] if library == "cv2" else []  # nothing of this environment may get into the other one
        self._command = [str(python), *alone, str(program), library]
        self._start()

    def _start(self) -> None:
        self._process = subprocess.Popen(self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()  # ends it
        self._process.wait()
        self._process.stdout.close()

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Send a request and wait for the answer."""
        self.send(command, **arguments)
        return self.receive()

    def send(self, command: str, **arguments: Any) -> None:
        """Send a request; its answer must be received before the next one."""
        with contextlib.suppress(BrokenPipeError):  # `receive` will tell that it died
            write_message(self._process.stdin, {"command": command, **arguments})

    def kill(self) -> None:
        """End the process at once; who waits for an answer gets a `LibraryError`."""
        self._process.kill()

    def receive(self) -> dict[str, Any]:
        """Return the answer; raise `LibraryError` if it is an error, or if the process died: then there is a new one."""
        answer = read_message(self._process.stdout)
        if answer is None:
            self.__exit__()
            status = self._process.returncode
            self._start()
            raise LibraryError(f"the process died: exit status {status}")
        if "error" in answer:
            raise LibraryError(answer["error"])
        return answer


def write_message(stream: BinaryIO, arrays: dict[str, Any]) -> None:
    """Write a dict of arrays, numbers, strings and paths."""
    plain = {key: str(value) if isinstance(value, Path) else value for key, value in arrays.items()}
    buffer = io.BytesIO()
    np.savez(buffer, **plain)
    stream.write(buffer.tell().to_bytes(LENGTH, "little"))
    stream.write(buffer.getbuffer())
    stream.flush()


def read_message(stream: BinaryIO) -> dict[str, Any] | None:
    """Read what `write_message` wrote; None at the end."""
    head = stream.read(LENGTH)
    if len(head) < LENGTH:
        return None
    buffer = io.BytesIO(stream.read(int.from_bytes(head, "little")))
    with np.load(buffer, allow_pickle=False) as arrays:
        return {key: arrays[key] if arrays[key].ndim else arrays[key].item() for key in arrays.files}


class Library:
    """What both libraries can be asked for.

    Attributes
    ----------
    module : module
        Has a `CascadeClassifier` as OpenCV 4 has it.
    """

    module: Any

    def __init__(self) -> None:
        self._classifiers: dict[str, Any] = {}
        self._detect: Any = None

    def about(self) -> dict[str, Any]:
        """Return "version", and "models", the folder of the model files, if it has any."""
        raise NotImplementedError

    def load(self, xml: str) -> dict[str, Any]:
        """Load a model, or fail with the library's reason."""
        self._classifier(xml)
        return {}

    def _classifier(self, xml: str) -> Any:
        if xml not in self._classifiers:
            classifier = self.module.CascadeClassifier(xml)
            if classifier.empty():
                classifier.getOriginalWindowSize()  # says why
            self._classifiers[xml] = classifier
        return self._classifiers[xml]

    def prepare(self, xml: str, n_threads: int, **pictures: Any) -> dict[str, Any]:
        """Make ready to `measure` detection in pictures with the settings that most programs leave as they are."""
        detect, shown = self.detection(xml, int(n_threads)), list(pictures.values())
        self._detect = lambda: [detect(picture) for picture in shown]
        return {}

    def detection(self, xml: str, n_threads: int) -> Any:
        """Return a function that detects in a picture and returns boxes."""
        raise NotImplementedError

    def measure(self) -> dict[str, Any]:
        """Detect once: boxes and numbers of their pictures (n, 5), seconds by the clock, and of all processors."""
        time.sleep(REST)
        wall, cpu = time.perf_counter(), time.process_time()
        found = self._detect()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        boxes = [[*map(int, box), i] for i, each in enumerate(found) for box in each]
        return {"boxes": np.asarray(boxes, np.int32).reshape(-1, 5), "wall": wall, "cpu": cpu}

    def compare(self, models: Any, cases: Any, **pictures: Any) -> dict[str, Any]:
        """Detect with every model (n_models,) in every one of its cases (n_models, n_cases, 7).

        A case is the scale factor, least neighbours, least width and height, greatest width and height, and
        the number of the picture. The rows of all runs, see `COLUMNS`, follow each other; `n_rows` has the number of each run's.
        """
        shown = list(pictures.values())
        runs = [
            self._run(self._classifier(str(model)), shown, case)
            for model, model_cases in zip(models, cases, strict=True)
            for case in model_cases
        ]
        return {"rows": np.concatenate(runs), "n_rows": np.array([len(rows) for rows in runs])}

    def _run(self, classifier: Any, pictures: list[Any], case: Any) -> Any:
        least, greatest = (int(case[2]), int(case[3])), (int(case[4]), int(case[5]))
        settings = {"scaleFactor": float(case[0]), "minNeighbors": int(case[1])}
        arguments = {"image": pictures[int(case[6])], **settings, "minSize": least, "maxSize": greatest}
        boxes, levels, weights = classifier.detectMultiScale3(**arguments, outputRejectLevels=True)
        boxes, counts = np.asarray(boxes, np.float64).reshape(-1, 4), np.ones(len(boxes))
        if settings["minNeighbors"]:  # raw windows stand for themselves
            plain, counts = classifier.detectMultiScale2(**arguments)
            if not np.array_equal(boxes, np.asarray(plain, np.float64).reshape(-1, 4)):
                raise LibraryError(f"detectMultiScale2 and detectMultiScale3 disagree at {case}")
        columns = [np.asarray(column, np.float64).reshape(-1, 1) for column in (counts, levels, weights)]
        return np.concatenate([boxes, *columns], axis=1)


class OpenCV(Library):
    """OpenCV; on one thread where it is compared, so that its results have an order."""

    def __init__(self) -> None:
        super().__init__()
        import cv2

        self.module = cv2
        cv2.setNumThreads(1)

    def about(self) -> dict[str, Any]:
        """Return the version and the folder of the model files."""
        return {"version": f"OpenCV {self.module.__version__}", "models": self.module.data.haarcascades}

    def detection(self, xml: str, n_threads: int) -> Any:
        """Return a function that detects in a picture and returns boxes."""
        self.module.setNumThreads(n_threads)
        classifier = self.module.CascadeClassifier(xml)
        return lambda picture: classifier.detectMultiScale(picture, scaleFactor=1.1, minNeighbors=3)


class Vjcascade(Library):
    """vjcascade: measured by its own class, compared by that which stands in for OpenCV's."""

    def __init__(self) -> None:
        super().__init__()
        from vjcascade import compat

        self.module = compat

    def about(self) -> dict[str, Any]:
        """Return the versions."""
        import numba

        import vjcascade

        return {"version": f"vjcascade {vjcascade.__version__} (numba {numba.__version__})"}

    def detection(self, xml: str, n_threads: int) -> Any:
        """Return a function that detects in a picture and returns boxes."""
        from vjcascade import Cascade
        from vjcascade.detection import Detector

        detector = Detector(Cascade.load(xml), scale_factor=1.1, min_neighbors=3, n_threads=n_threads)
        return lambda picture: detector.detect(picture).boxes


LIBRARIES = {"cv2": OpenCV, "vjcascade": Vjcascade}


def answer_requests(command_of: Callable[[str], Callable[..., dict[str, Any]]]) -> None:
    """Answer what `LibraryProcess` asks, until it asks no more; commands are found by name."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr  # whatever a library prints is no answer
    while (request := read_message(requests)) is not None:
        command = command_of(request.pop("command"))
        try:
            answer = command(**request)
        except Exception as error:  # the asking side shall know
            answer = {"error": f"{type(error).__name__}: {error}"}
        write_message(answers, answer)


def main() -> None:
    library = LIBRARIES[sys.argv[1]]()
    answer_requests(lambda name: getattr(library, name))


if __name__ == "__main__":
    main()

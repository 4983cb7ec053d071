"""A scanner in Python with the model in it: one file that needs only NumPy."""

from __future__ import annotations

import ast
import sys
import tempfile
from pathlib import Path

from vjcascade.cascade import Cascade
from vjcascade.exports.base import Export, check_answers, filled, identifier, template, wrapped
from vjcascade.exports.programs import parsed_answers, run_program, trial_bytes
from vjcascade.exports.tables import model_json, model_tables
from vjcascade.exports.trial import Trial


class PythonSource(Export):
    """A `.py`: `scanner.py`, with which other exports are read back, and the model's tables."""

    name = "python"
    suffixes = (".py",)
    label = "Python scanner"

    def dump(self, cascade: Cascade, path: Path) -> bytes:
        """Return the file's content."""
        tables = model_tables(cascade)
        values = {
            "NAME": identifier(path),
            "ABOUT": "\n".join(f"    {line}" for line in wrapped(tables["about"], 100)),
            "SCANNER": _without_docstring(template("scanner.py")),
            "MODEL": model_json(tables),
        }
        return filled(_FILE, values).encode("ascii")

    def verify(self, data: bytes, trial: Trial, path: Path) -> str:
        """Run it in a new process, isolated from this package."""
        del path
        with tempfile.TemporaryDirectory(prefix="vjcascade-") as name:
            folder = Path(name)
            (folder / "model.py").write_bytes(data)
            command = [sys.executable, "-I", "-c", _TRY]
            answers = run_program(command, folder, trial_bytes(trial))
        check_answers(trial, *parsed_answers(answers, len(trial.windows)))
        return "identical results, run in Python; identical boxes in a picture"


_TRY = """\
import runpy
import sys

import numpy as np

model = runpy.run_path("model.py")
detector = model["NumpyScanner"](model["MODEL"])
data = sys.stdin.buffer.read()
n_windows, width, height = np.frombuffer(data, np.int32, 3).tolist()
pixels = np.frombuffer(data, np.uint8, offset=12)
n_pixels = n_windows * detector.width * detector.height
windows = pixels[:n_pixels].reshape(n_windows, detector.height, detector.width)
picture = pixels[n_pixels:].reshape(height, width)
answers = [detector.judge(windows)]
for min_neighbors in (0, None):
    boxes = detector.detect(picture, min_neighbors=min_neighbors).boxes
    answers += [np.array([len(boxes)], np.int32), boxes.ravel()]
sys.stdout.buffer.write(np.concatenate(answers).astype(np.int32).tobytes())
"""
"""Evaluates windows and searches a picture, from standard input to standard output."""

_FILE = '''"""An object detector (Viola-Jones cascade) in Python, written by vjcascade. It needs only NumPy.

It accepts exactly the windows that OpenCV 4.14 and vjcascade accept, and finds the same boxes.

The model:
@ABOUT@

How to use it:

    python @NAME@.py PICTURE.pgm            (also .ppm pictures, and arrays in .npy files)

    import @NAME@
    detector = @NAME@.NumpyScanner(@NAME@.MODEL)
    found = detector.detect(grey)           # an array of shape (height, width), uint8
    print(found.boxes)                      # x, y, w, h
"""

@SCANNER@

MODEL = json.loads(
    """
@MODEL@
"""
)

if __name__ == "__main__":
    main(MODEL)
'''


def _without_docstring(source: str) -> str:
    """Return a module's lines after its docstring."""
    first = ast.parse(source).body[0]
    return "".join(source.splitlines(keepends=True)[first.end_lineno :]).strip("\n")

"""The model as JSON, a scanner in JavaScript with the model in it, and the same as a page with the camera."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

from vjcascade.cascade import Cascade
from vjcascade.exports.base import (
    Export,
    check_answers,
    emulated,
    file_name,
    filled,
    identifier,
    template,
    wrapped,
)
from vjcascade.exports.programs import first_program, parsed_answers, run_program, trial_bytes
from vjcascade.exports.tables import model_json, model_tables
from vjcascade.exports.trial import Trial

INTERPRETERS = ("node", "nodejs")


class JsonModel(Export):
    """A `.json`: the numbers alone, by the names of `model_tables`."""

    name = "json"
    suffixes = (".json",)
    label = "JSON of the model"

    def dump(self, cascade: Cascade, path: Path) -> bytes:
        """Return the file."""
        del path
        return f"{model_json(model_tables(cascade))}\n".encode("ascii")

    def prove(self, data: bytes, trial: Trial, path: Path) -> str:
        """Read the numbers back and run them in NumPy."""
        del path
        emulated(json.loads(data), trial)
        return "equal, read back and run in NumPy; so are the boxes in a picture"


class JavaScript(Export):
    """A `.js`: for Node, bundles and pages."""

    name = "js"
    suffixes = (".js",)
    label = "JavaScript scanner"

    def dump(self, cascade: Cascade, path: Path) -> bytes:
        """Return the file; in a page, its functions are found by the name of the file."""
        text = template("usage.js") + template("scanner.js")
        return _script(text, cascade, path).encode("ascii")

    def prove(self, data: bytes, trial: Trial, path: Path) -> str:
        """Run it under Node; without it, read its numbers back and run these."""
        del path
        return _prove_script(data.decode(), trial)


class Page(Export):
    """A `.html`: a page that looks for the object in pictures and in what the camera sees, without a server."""

    name = "html"
    suffixes = (".html", ".htm")
    label = "page with the camera"

    def dump(self, cascade: Cascade, path: Path) -> bytes:
        """Return the file."""
        values = {
            "FILE": file_name(path),
            "TITLE": identifier(path).replace("_", " "),
            "NAME": _global_name(path),
            "ABOUT": "\n".join(wrapped(model_tables(cascade)["about"], 110)),
            "SCRIPT": _script(template("scanner.js"), cascade, path),
        }
        return filled(template("page.html"), values).encode("ascii")

    def prove(self, data: bytes, trial: Trial, path: Path) -> str:
        """Run the scanner in it under Node; without it, read its numbers back and run these."""
        del path
        script = re.search(r'<script id="scanner">\n(.*?)</script>', data.decode(), re.DOTALL)
        return _prove_script(script[1] if script else "", trial)


def _script(text: str, cascade: Cascade, path: Path) -> str:
    tables = model_tables(cascade)
    values = {
        "FILE": file_name(path),
        "NAME": _global_name(path),
        "ABOUT": "\n".join(f"//   {line}" for line in wrapped(tables["about"], 110)),
        "MODEL": model_json(tables),
    }
    return filled(text, values)


def _global_name(path: Path) -> str:
    """Return what a page knows the scanner by; a file may be called as something that pages have, such as `window`."""
    return f"{identifier(path)}_detector"


def _prove_script(script: str, trial: Trial) -> str:
    node = first_program(INTERPRETERS)
    if node is None:
        numbers = re.search(r"^  const MODEL = (\{.*?^\});$", script, re.DOTALL | re.MULTILINE)
        emulated(json.loads(numbers[1] if numbers else "{}"), trial)
        return (
            "equal, but only its numbers, read back and run in NumPy: the JavaScript did not run, as there is no "
            "Node.js here"
        )
    with tempfile.TemporaryDirectory(prefix="vjcascade-") as name:
        folder = Path(name)
        (folder / "model.js").write_text(script, encoding="ascii")
        (folder / "try.js").write_text(template("try.js"), encoding="ascii")
        answers = run_program([node, "try.js"], folder, trial_bytes(trial))
    check_answers(trial, *parsed_answers(answers, len(trial.windows)))
    return "equal, run under Node.js; so are the boxes in a picture"

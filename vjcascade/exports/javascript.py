"""The model as JSON, as a JavaScript file with a scanner, and as a web page that uses the camera."""

from __future__ import annotations

import json
import re
import tempfile
from pathlib import Path

from vjcascade.cascade import Cascade
from vjcascade.exports.base import (
    Export,
    check_answers,
    check_tables,
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
    """A `.json`: only the tables of `model_tables`, without a scanner."""

    name = "json"
    suffixes = (".json",)
    label = "JSON tables"

    def dump(self, cascade: Cascade, path: Path) -> bytes:
        """Return the file's content."""
        del path
        return f"{model_json(model_tables(cascade))}\n".encode("ascii")

    def verify(self, data: bytes, trial: Trial, path: Path) -> str:
        """Read the tables back and run them in NumPy."""
        del path
        check_tables(json.loads(data), trial)
        return "identical results, read back and run in NumPy; identical boxes in a picture"


class JavaScript(Export):
    """A `.js` for Node, bundlers and web pages."""

    name = "js"
    suffixes = (".js",)
    label = "JavaScript scanner"

    def dump(self, cascade: Cascade, path: Path) -> bytes:
        """Return the file's content; in a web page, it defines a global named after the file."""
        text = template("usage.js") + template("scanner.js")
        return _script(text, cascade, path).encode("ascii")

    def verify(self, data: bytes, trial: Trial, path: Path) -> str:
        """Run it in Node.js; without Node.js, read its tables back and run these in NumPy."""
        del path
        return _verify_script(data.decode(), trial)


class Page(Export):
    """A `.html`: a page that detects objects in pictures and in the camera image, without a server."""

    name = "html"
    suffixes = (".html", ".htm")
    label = "web page"

    def dump(self, cascade: Cascade, path: Path) -> bytes:
        """Return the file's content."""
        values = {
            "FILE": file_name(path),
            "TITLE": identifier(path).replace("_", " "),
            "NAME": _global_name(path),
            "ABOUT": "\n".join(wrapped(model_tables(cascade)["about"], 110)),
            "SCRIPT": _script(template("scanner.js"), cascade, path),
        }
        return filled(template("page.html"), values).encode("ascii")

    def verify(self, data: bytes, trial: Trial, path: Path) -> str:
        """Run its scanner in Node.js; without Node.js, read its tables back and run these in NumPy."""
        del path
        script = re.search(r'<script id="scanner">\n(.*?)</script>', data.decode(), re.DOTALL)
        return _verify_script(script[1] if script else "", trial)


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
    """Return the scanner's global name in a page; the suffix avoids clashes with globals such as `window`."""
    return f"{identifier(path)}_detector"


def _verify_script(script: str, trial: Trial) -> str:
    node = first_program(INTERPRETERS)
    if node is None:
        numbers = re.search(r"^  const MODEL = (\{.*?^\});$", script, re.DOTALL | re.MULTILINE)
        check_tables(json.loads(numbers[1] if numbers else "{}"), trial)
        return (
            "identical results, but the JavaScript was not run, as there is no Node.js: its tables were read back and "
            "run in NumPy"
        )
    with tempfile.TemporaryDirectory(prefix="vjcascade-") as name:
        folder = Path(name)
        (folder / "model.js").write_text(script, encoding="ascii")
        (folder / "try.js").write_text(template("try.js"), encoding="ascii")
        answers = run_program([node, "try.js"], folder, trial_bytes(trial))
    check_answers(trial, *parsed_answers(answers, len(trial.windows)))
    return "identical results, run in Node.js; identical boxes in a picture"

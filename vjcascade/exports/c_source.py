"""A scanner in C99 with the model as constant arrays, in one file that needs only the standard library."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vjcascade.cascade import Cascade
from vjcascade.errors import ModelError
from vjcascade.exports.base import (
    ADVICE,
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
from vjcascade.exports.tables import model_tables, short_float32
from vjcascade.exports.trial import Trial

COMPILERS = ("cc", "gcc", "clang")

FLAGS = ("-std=c99", "-O2", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffp-contract=off")

_LINE = 110


class CSource(Export):
    """A `.h` with static functions, or a `.c` with external ones; otherwise the same text."""

    name = "c"
    suffixes = (".h", ".c")
    label = "C99 scanner"

    def dump(self, cascade: Cascade, path: Path) -> bytes:
        """Return the file's content; names of functions begin with the name of the file."""
        tables = model_tables(cascade)
        is_header = path.suffix.lower() != ".c"
        text = template("usage.h") + template("scanner.h")
        values = {
            "FILE": file_name(path),
            "USE": _USE_HEADER if is_header else _USE_SOURCE,
            "ABOUT": "\n".join(f" *   {line}" for line in wrapped(tables["about"], 110)),
            "API": "static inline" if is_header else "",
            "MODEL": _model_text(tables),
            "SETTINGS": _settings_text(tables["settings"]),
        }
        return _renamed(filled(text, values), identifier(path)).encode("ascii")

    def verify(self, data: bytes, trial: Trial, path: Path) -> str:
        """Compile and run it; without a compiler, read its arrays back and run these in NumPy."""
        compiler = _working_compiler()
        if compiler is None:
            check_tables(parsed_tables(data.decode(), identifier(path)), trial)
            return (
                "identical results, but the C code was not run, as there is no C compiler: its arrays were read back "
                "and run in NumPy"
            )
        with tempfile.TemporaryDirectory(prefix="vjcascade-") as name:
            folder = Path(name)
            (folder / "model.h").write_bytes(data)
            (folder / "try.c").write_text(_renamed(template("try.c"), identifier(path)), encoding="ascii")
            run_program([compiler, *FLAGS, "try.c", "-o", "try.exe", "-lm"], folder)
            answers = run_program([str(folder / "try.exe")], folder, trial_bytes(trial))
        check_answers(trial, *parsed_answers(answers, len(trial.windows)))
        return f"identical results, compiled with {Path(compiler).name} and run; identical boxes in a picture"


_USE_HEADER = " * Include it where it is used; every function is static. Link with -lm."

_USE_SOURCE = """\
 * Compile it with your program and link with -lm; copy the types and declarations below (VJ_API) to the code that uses
 * them, or include the file itself.\
"""


def _working_compiler() -> str | None:
    """Return a compiler that can build and run a program; None also if headers or the linker are missing."""
    compiler = first_program(COMPILERS)
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory(prefix="vjcascade-") as name:
        folder = Path(name)
        (folder / "empty.c").write_text(
            "#include <math.h>\n#include <stdio.h>\nint main(void) { return 0; }\n", encoding="ascii"
        )
        try:
            run_program([compiler, "empty.c", "-o", "empty.exe", "-lm"], folder)
            run_program([str(folder / "empty.exe")], folder)
        except ModelError:
            return None
    return compiler


def _renamed(text: str, name: str) -> str:
    """Replace the prefix of names by that of the model, so that a program can contain several models."""
    return re.sub(r"\bVJ_", f"{name.upper()}_", re.sub(r"\bvj_", f"{name}_", text))


def _settings_text(settings: Mapping[str, Any]) -> str:
    width, height = settings["min_size"] or (0, 0)
    numbers = (settings["scale_factor"], settings["min_neighbors"], width, height, 0, 0)
    return ", ".join(map(str, [*numbers, float(settings["min_ranking_score"])]))


def _model_text(tables: Mapping[str, Any]) -> str:
    """Return the macros and constant arrays of a model."""
    is_lbp = tables["feature_type"] == "LBP"
    n_nodes, n_trees = len(tables["node_features"]), len(tables["tree_starts"]) - 1
    has_trees = n_nodes != n_trees
    width, height = tables["window"]
    is_tilted = not is_lbp and any(tables["tilted"])
    macros = {
        "WIDTH": width,
        "HEIGHT": height,
        "STAGES": len(tables["stage_thresholds"]),
        "LBP": int(is_lbp),
        "TILTED": int(is_tilted),
        "TREES": int(has_trees),
    }
    lines = [f"#define VJ_{name} {value}" for name, value in macros.items()]
    place = "uint8_t" if max(width, height) <= 255 else "uint16_t"
    lines += ["", f"typedef {place} vj_place;", "", "/* x, y, w, h */"]
    if is_lbp:
        lines.append(_array("vj_place", "cells", tables["cells"]))
        lines += [
            "/* codes whose bit is set go left */",
            _array("uint32_t", "node_subsets", tables["node_subsets"]),
        ]
    else:
        lines.append(_array("vj_place", "rects", tables["rects"]))
        weights = sorted(set(map(tuple, tables["weights"])))  # of thousands of features, a few
        kinds = [weights.index(tuple(one)) for one in tables["weights"]]
        lines.append("/* weights of rectangles, and which of these each feature has */")
        lines.append(_array("float", "weights", [list(one) for one in weights]))
        lines.append(_array(_smallest(len(weights)), "feature_weights", kinds))
        if is_tilted:
            lines.append(_array("uint8_t", "tilted", tables["tilted"]))
        lines += [
            "/* a window whose value is below goes left */",
            _array("float", "node_thresholds", tables["node_thresholds"]),
        ]
    lines.append(_array(_smallest(len(tables["node_features"])), "node_features", tables["node_features"]))
    if has_trees:
        children = [list(pair) for pair in zip(tables["node_left"], tables["node_right"], strict=True)]
        lines += [
            "/* left and right; > 0: a node of the same tree, otherwise minus the number of a leaf */",
            _array("int32_t", "children", children),
        ]
        lines.append(_array("uint32_t", "tree_starts", tables["tree_starts"]))
    lines.append(_array("float", "leaves", tables["leaves"]))
    lines.append(_array("uint32_t", "stage_starts", tables["stage_starts"]))
    lines.append(_array("float", "stage_thresholds", tables["stage_thresholds"]))
    text = "\n".join(lines)
    n_bytes = sum(
        (1 if kind == "vj_place" and place == "uint8_t" else _SIZES[kind]) * int(rows) * int(columns or 1)
        for kind, rows, columns in _ARRAYS.findall(text)
    )
    return f"/* data of the model: {n_bytes:,} bytes */\n{text}"


_ARRAYS = re.compile(r"static const (\w+) vj_\w+\[(\d+)\](?:\[(\d+)\])? = ")

_SIZES = {"uint8_t": 1, "uint16_t": 2, "uint32_t": 4, "int32_t": 4, "float": 4, "vj_place": 2}
"""Bytes of an item; of `vj_place`, where it is two."""


def _smallest(most: int) -> str:
    return "uint8_t" if most <= 255 else "uint16_t" if most <= 65_535 else "uint32_t"


def _array(kind: str, name: str, rows: list[Any]) -> str:
    """Return a constant array of one or two dimensions."""
    spell = _float_literal if kind == "float" else _integer_literal(kind)
    if isinstance(rows[0], list):
        items: Iterable[str] = (f"{{{', '.join(map(spell, row))}}}" for row in rows)
        shape = f"[{len(rows)}][{len(rows[0])}]"
    else:
        items, shape = map(spell, rows), f"[{len(rows)}]"
    lines, line = [], "   "
    for item in items:
        if len(line) + len(item) + 2 > _LINE:
            lines.append(line)
            line = "   "
        line += f" {item},"
    lines.append(line.rstrip(","))
    body = "\n".join(lines)
    return f"static const {kind} vj_{name}{shape} = {{\n{body}\n}};"


def _float_literal(value: float) -> str:
    """Return a literal that compilers with correct rounding read as this float32."""
    return f"{np.float32(value)!s}f"


def _integer_literal(kind: str) -> Any:
    return (lambda value: f"{value}u") if kind == "uint32_t" else str


def parsed_tables(text: str, name: str) -> dict[str, Any]:
    """Read the arrays of an exported file back.

    Parameters
    ----------
    text : str
        The file.
    name : str
        The prefix of its names.

    Returns
    -------
    dict
        As `model_tables` returns it, without `about`.

    Raises
    ------
    ModelError
        If an array has a wrong size, or settings or window are missing.
    """
    arrays: dict[str, list[Any]] = {}
    for match in re.finditer(
        rf"static const (\w+) {name}_(\w+)\[(\d+)\](?:\[(\d+)\])? = \{{(.*?)\n\}};", text, re.DOTALL
    ):
        kind, key, rows, columns, body = match.groups()
        words = re.findall(r"[-+.\de]+(?=[fu]?[,}\s]|[fu]?$)", body)
        numbers = [short_float32(float(word)) if kind == "float" else int(word) for word in words]
        wide = int(columns or 1)
        if len(numbers) != int(rows) * wide:
            raise ModelError(
                f"the array {key} has {len(numbers)} numbers instead of {int(rows) * wide}; {ADVICE}"
            )
        arrays[key] = (
            numbers if columns is None else [numbers[i : i + wide] for i in range(0, len(numbers), wide)]
        )
    macros = dict(re.findall(rf"#define {name.upper()}_(\w+) (\d+)\n", text))
    settings = re.search(rf"const {name}_settings settings = {{(.*?)}};", text)
    if settings is None or not {"WIDTH", "HEIGHT", "LBP"} <= set(macros):
        raise ModelError(f"the C export has no settings or no window; {ADVICE}")
    factor, neighbors, width, height, _, _, score = settings[1].split(", ")
    n_nodes = len(arrays["node_features"])
    children = arrays.pop("children", [[0, -1]] * n_nodes)
    if macros["LBP"] != "1":
        arrays["weights"] = [arrays["weights"][kind] for kind in arrays.pop("feature_weights")]
        arrays.setdefault("tilted", [0] * len(arrays["rects"]))
    return {
        "settings": {
            "scale_factor": float(factor),
            "min_neighbors": int(neighbors),
            "min_size": [int(width), int(height)] if width != "0" else None,
            "min_ranking_score": float(score),
        },
        "window": [int(macros["WIDTH"]), int(macros["HEIGHT"])],
        "feature_type": "LBP" if macros["LBP"] == "1" else "HAAR",
        "tree_starts": list(range(n_nodes + 1)),
        "node_left": [left for left, _ in children],
        "node_right": [right for _, right in children],
        **arrays,
    }

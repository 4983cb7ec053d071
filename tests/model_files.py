"""Model files for tests: other forms than the one that is written, and good files spoiled at random."""

import gzip
import re

import numpy as np
from sample_cascades import cascade_with

from vjcascade.cascade import LBP_NODE_DTYPE, Cascade
from vjcascade.formats._parts import METADATA_TAG
from vjcascade.formats._xml import parse_xml
from vjcascade.formats.cascade_files import dump_cascade
from vjcascade.types import LBP_DTYPE, Size


def lbp_cascade(metadata=None):
    """Return two stages over LBP features: a stump, and a tree of two nodes."""
    subsets = [[1, 2, 3, 2**31, 0, 0, 2**32 - 1, 7], [0] * 8, [2**32 - 1] * 8]
    nodes = [(1, subsets[0], 0, -1), (0, subsets[1], 1, 0), (1, subsets[2], -1, -2)]
    return Cascade(
        Size(20, 18),
        np.array([([0, 0, 6, 6],), ([2, 3, 1, 2],)], LBP_DTYPE),
        np.array(nodes, LBP_NODE_DTYPE),
        np.array([0, 1, 3], np.int32),
        np.array([-1, 0.5, 2, 1e-30, -3], np.float32),
        np.array([0, 1, 2], np.int32),
        np.array([-0.25, 1e10], np.float32),
        metadata or {},
    )


def as_yaml(xml):
    """Return an XML file in YAML, laid out as OpenCV does, without metadata."""
    ((name, root),) = parse_xml(xml.decode(), comments_in=METADATA_TAG).items()
    return f"%YAML:1.0\n---\n{name}: !!opencv-cascade-classifier{_block(root, 1)}\n".encode()


def as_json(xml):
    """Return an XML file in JSON, laid out as OpenCV does, without metadata."""
    (name,), (root,) = zip(*parse_xml(xml.decode(), comments_in=METADATA_TAG).items(), strict=True)
    text = (
        f'{{\n    "{name}": {{\n        "type_id": "opencv-cascade-classifier",{_braces(root, 2)[1:]}\n}}\n'
    )
    return re.sub(r"(\d\.)(?=[\s,}\]])", r"\g<1>0", text).encode()


def _block(node, depth):
    indent = "\n" + 3 * depth * " "
    if isinstance(node, dict):
        known = (item for item in node.items() if item[0] != METADATA_TAG)
        return "".join(f"{indent}{name}:{_block(child, depth + 1)}" for name, child in known)
    if isinstance(node, list) and any(not isinstance(child, str) for child in node):
        return "".join(f"{indent}-{_block(child, depth + 1)}" for child in node)
    return f" {node}" if isinstance(node, str) else f" [ {', '.join(node)} ]"


def _braces(node, depth):
    indent = "\n" + 4 * depth * " "
    if isinstance(node, dict):
        known = (item for item in node.items() if item[0] != METADATA_TAG)
        inner = ",".join(f'{indent}"{name}": {_braces(child, depth + 1)}' for name, child in known)
        return f"{{{inner}{indent[:-4]}}}"
    if isinstance(node, list):
        return f"[{','.join(indent + _braces(child, depth + 1) for child in node)} ]"
    return f'"{node}"' if node.isalpha() else node


def good_files():
    """Return good files of every format, feature type and form, by name."""
    formats = {
        "new": dump_cascade(cascade_with({"booster": "cga", "rates": [0.995, 0.5]})),
        "lbp": dump_cascade(lbp_cascade()),
        "old": dump_cascade(cascade_with(), "old"),
    }
    files = {}
    for name, xml in formats.items():
        forms = {"xml": xml, "yml": as_yaml(xml), "json": as_json(xml)}
        files |= {f"{name}.{form}": data for form, data in forms.items()}
        files |= {f"{name}.{form}.gz": gzip.compress(data, mtime=0) for form, data in forms.items()}
    return files


NUMBERS = [
    *(
        "0",
        "1",
        "2",
        "-1",
        "-2",
        "-0.",
        "1e39",
        "-1e39",
        "1e-60",
        "nan",
        ".Nan",
        ".Inf",
        "99999999999",
        "0x10",
        "07",
    ),
    *(
        "",
        "2 3",
        "2, 3",
        "é",
        "<_>",
        "]]>",
        "[",
        "}",
        "2147483647",
        "-2147483648",
        "null",
        "true",
        "'",
        '"',
        "#",
        "- ",
    ),
    *("<!--", "-->", "<!-- -- -->", "<![CDATA[", "<?xml ?>", "/*", "*/"),
]


def spoiled(data, rng):
    """Return the bytes with one to three accidents; what is in a gzip file is mostly spoiled before it is packed."""
    if data.startswith(b"\x1f\x8b") and rng.random() < 0.8:
        return gzip.compress(spoiled(gzip.decompress(data), rng), 1, mtime=0)
    for _ in range(rng.integers(1, 4)):
        data = _accident(data, rng) or b" "
    return data


def _accident(data, rng):
    """Flip a bit, cut, repeat, or lose a piece, or exchange numbers or names."""
    start, length = int(rng.integers(0, len(data))), int(rng.integers(1, 40))
    match rng.integers(0, 10):
        case 0 | 1:
            data = data[:start] + bytes([data[start] ^ 1 << int(rng.integers(0, 8))]) + data[start + 1 :]
        case 2:
            data = data[: start + 1]
        case 3:
            data = data[:start] + data[start : start + length] + data[start:]
        case 4:
            data = data[: start + 1] + data[start + length :]
        case 5:
            data = _swapped(data, rb"[A-Za-z_]+", rng)
        case 6:
            data = _swapped(data, rb"-?\d[\d.e-]*", rng)
        case _:
            numbers = list(re.finditer(rb"-?\d[\d.e-]*", data)) or [re.match(b"", data)]
            number = numbers[rng.integers(0, len(numbers))]
            data = data[: number.start()] + rng.choice(NUMBERS).encode() + data[number.end() :]
    return data


def _swapped(data, pattern, rng):
    """Exchange two matches; names that are XML tags change on one side only, or on both sides of the element."""
    found = list(re.finditer(pattern, data)) or [re.match(b"", data)]
    one, other = (found[int(i)] for i in np.sort(rng.integers(0, len(found), 2)))
    if one.end() > other.start():
        return data
    if one[0].isalpha() and rng.random() < 0.5:  # rename everywhere: the file stays well-formed
        return data.replace(one[0], other[0])
    return data[: one.start()] + other[0] + data[one.end() : other.start()] + one[0] + data[other.end() :]


def mutants(n, seed=440):
    """Yield (name, bytes) of `n` spoiled files, all kinds of `good_files` in turn, always the same."""
    rng = np.random.default_rng(seed)
    files = list(good_files().items())
    for i in range(n):
        name, data = files[i % len(files)]
        yield name, spoiled(data, rng)

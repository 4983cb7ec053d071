"""From OpenCV's tree of a file, `cv2.FileNode`, to the one that model files are read into."""

from __future__ import annotations

from typing import Any

from vjcascade.formats._tree import Node, check_size
from vjcascade.imaging import opencv


def is_file_node(node: Any) -> bool:
    """Tell whether this is a `cv2.FileNode`."""
    return isinstance(node, opencv().FileNode)


def tree_of(node: Any, depth: int = 1) -> Node:
    """Return what a `cv2.FileNode` holds: words, lists and mappings. Numbers come back without loss.

    Raises
    ------
    ModelError
        If it is nested deeper than any cascade.
    """
    check_size(depth, 0)
    if node.isMap():
        return {name: tree_of(node.getNode(name), depth + 1) for name in node.keys()}  # noqa: SIM118  (no mapping)
    if node.isSeq():
        return [tree_of(node.at(i), depth + 1) for i in range(node.size())]
    if node.isInt():
        return str(int(node.real()))
    if node.isReal():
        return repr(node.real())
    return str(node.string()) if node.isString() else []

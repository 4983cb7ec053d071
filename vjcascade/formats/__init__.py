"""Model files, and the annotation files of other tools: one module a format."""

from vjcascade.formats.cascade_files import load_cascade, parse_cascade, save_cascade

__all__ = ["load_cascade", "parse_cascade", "save_cascade"]

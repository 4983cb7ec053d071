"""Models for other programs: each export carries its own scanner, and is tried before it is written."""

from vjcascade.exports.base import ExportFormat
from vjcascade.exports.exporting import EXPORTS, Exported, export_cascade, format_of

__all__ = ["EXPORTS", "ExportFormat", "Exported", "export_cascade", "format_of"]

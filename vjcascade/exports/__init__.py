"""Models for other programs: most exports contain a scanner, and each is tested before it is written."""

from vjcascade.exports.base import ExportFormat
from vjcascade.exports.exporting import EXPORTS, Exported, export_cascade, format_of

__all__ = ["EXPORTS", "ExportFormat", "Exported", "export_cascade", "format_of"]

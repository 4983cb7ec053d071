"""Model files, and the annotation files of other tools: one module a format."""

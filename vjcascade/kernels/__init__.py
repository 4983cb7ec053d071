"""Compiled kernels, which read and write arrays only: no classes, no files."""

"""The command line: parse, call, render. A file for each command."""

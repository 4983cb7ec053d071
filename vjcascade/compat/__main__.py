"""``python -m vjcascade.compat script.py ...`` runs a script of others, with what `cv2` lacks."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from typing import NoReturn

from vjcascade.compat import install

USAGE = "usage: python -m vjcascade.compat SCRIPT [ARGUMENTS ...]"


def main() -> None:
    """Give `cv2` its missing names, and run the script as ``python SCRIPT`` would."""
    words = sys.argv[1:]
    if not words or words[0].startswith("-"):
        _refuse(USAGE)
    script = Path(words[0])
    if not script.is_file():
        _refuse(f"{script}: there is no such script; check the path")
    install()
    sys.argv[:] = words
    sys.path[0] = str(script.resolve().parent)
    runpy.run_path(str(script), run_name="__main__")


def _refuse(why: str) -> NoReturn:
    sys.stderr.write(f"{why}\n")
    sys.exit(2)


if __name__ == "__main__":
    main()

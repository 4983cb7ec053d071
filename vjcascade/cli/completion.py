"""``vjcascade completion``."""

from __future__ import annotations

import sys
from typing import Literal


def completion(shell: Literal["bash", "zsh", "fish", "powershell"], /) -> None:
    """Print a script that makes a shell complete commands, options and their values.

    It is plain shell: pressing Tab does not start Python.

    Parameters
    ----------
    shell : {bash, zsh, fish, powershell}
        For which shell.
    """
    from vjcascade.cli.main import command_app

    sys.stdout.write(command_app().generate_completion(shell=shell))

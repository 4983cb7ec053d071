"""Text on its way to a terminal."""

_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def printable(text: str) -> str:
    r"""Return text with its control characters written out: file names and models may hold commands to terminals.

    Examples
    --------
    >>> print(printable("\x1b]0;title\x07, \x9b2J"))
    \x1b]0;title\x07, \x9b2J
    """
    return text.translate(_CONTROLS)

"""Words for people."""


def counted(n: int, noun: str) -> str:
    """Return a number and its noun, in the plural unless it is one.

    Examples
    --------
    >>> counted(1, "stage"), counted(12_000, "window")
    ('1 stage', '12,000 windows')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"

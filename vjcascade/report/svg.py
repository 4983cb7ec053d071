"""Pieces of SVG as text: elements whose every text and value is escaped, and polylines."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


def element(name: str, *content: str, **attributes: object) -> str:
    """Return an element.

    Parameters
    ----------
    name : str
        Of its kind.
    *content : str
        SVG already; what is text must be escaped.
    **attributes
        Any values, which are escaped. Underscores in names become hyphens, one at the end is dropped.

    Returns
    -------
    str
        The element.

    Examples
    --------
    >>> element("g", element("rect", x=1, width=2.5), class_="bar")
    '<g class="bar"><rect x="1" width="2.5"/></g>'
    """
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_value(value)}"' for key, value in attributes.items()
    )
    return f"<{name}{written}>{''.join(content)}</{name}>" if content else f"<{name}{written}/>"


def text(words: object, x: float, y: float, **attributes: object) -> str:
    """Return a line of text.

    Parameters
    ----------
    words : object
        Escaped here.
    x, y : float
        Where the line begins.
    **attributes
        Of the element.

    Returns
    -------
    str
        A `text` element.

    Examples
    --------
    >>> text("a < b", 1, 2)
    '<text x="1" y="2">a &lt; b</text>'
    """
    return element("text", escape(str(words)), x=x, y=y, **attributes)


def drawing(width: float, height: float, title: str, *content: str, **attributes: object) -> str:
    """Return a drawing that fits into any width.

    Parameters
    ----------
    width, height : float
        Of its own coordinates.
    title : str
        What it shows, for those who cannot see it.
    *content : str
        Elements.
    **attributes
        Of the drawing.

    Returns
    -------
    str
        An `svg` element.
    """
    label = element("title", escape(title))
    box = f"0 0 {_value(width)} {_value(height)}"
    return element("svg", label, *content, viewBox=box, role="img", **attributes)


def polyline(points: Iterable[tuple[float, float]], **attributes: object) -> str:
    """Return a line through points.

    Examples
    --------
    >>> polyline([(0, 1), (2.25, 3)], class_="hit")
    '<polyline points="0,1 2.25,3" class="hit"/>'
    """
    return element("polyline", points=" ".join(f"{_value(x)},{_value(y)}" for x, y in points), **attributes)


def bar(x: float, y: float, width: float, height: float, **attributes: object) -> str:
    """Return a rectangle.

    Parameters
    ----------
    x, y, width, height : float
        Its place.
    **attributes
        Of the element.

    Returns
    -------
    str
        A `rect` element.
    """
    return element("rect", x=x, y=y, width=width, height=height, **attributes)


def _value(value: object) -> str:
    """Return a value in few characters: two decimals are finer than any screen."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else escape(str(value))

"""The templates of reports, ready to be filled."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files

from vjcascade.errors import MissingLibraryError
from vjcascade.messages import duration, memory_size


def template(name: str) -> Callable[..., str]:
    """Return a template's function: values by name in, a page out. All text is escaped.

    Parameters
    ----------
    name : str
        A file beside this one.

    Returns
    -------
    callable
        Refuses values that are missing.

    Raises
    ------
    MissingLibraryError
        If jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
    except ImportError:
        raise MissingLibraryError(
            "a report is made with jinja2, which is not installed: pip install jinja2"
        ) from None
    folder = files("vjcascade.report")
    environment = Environment(
        loader=FunctionLoader(lambda file: folder.joinpath(file).read_text(encoding="utf-8")),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"duration": duration, "memory": memory_size}
    return environment.get_template(name).render

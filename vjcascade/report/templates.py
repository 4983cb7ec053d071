"""The templates of reports, ready to be filled."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files

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
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined

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

"""Help whose lines break where the terminal ends, and not where those of the source code do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cyclopts.help import DefaultFormatter, HelpPanel
    from rich.console import Console, ConsoleOptions

_BREAK_INSIDE_A_PARAGRAPH = re.compile(r"(?<!\n)\n(?!\n|or: |and then: )")


def paragraphs(text: str) -> str:
    r"""Return a text with each paragraph in one line; each example keeps its own.

    Examples
    --------
    >>> paragraphs("One\nsentence.\n\nFor example: a\nand then: b")
    'One sentence.\n\nFor example: a\nand then: b'
    """
    return _BREAK_INSIDE_A_PARAGRAPH.sub(" ", text)


class HelpFormatter:
    """The formatter of cyclopts, which would keep the line breaks of docstrings.

    That one is imported when help is shown: other commands start without it.
    """

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Print a panel of arguments, options or commands.

        Parameters
        ----------
        console : Console
            Where it is printed.
        options : ConsoleOptions
            Of the console.
        panel : HelpPanel
            Its texts are changed.
        """
        for entry in panel.entries:
            text = getattr(entry.description, "primary_renderable", None)
            if text is not None:
                text.plain = paragraphs(text.plain)
        self._formatter()(console, options, panel)

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:
        """Print how the command is called.

        Parameters
        ----------
        console : Console
            Where it is printed.
        options : ConsoleOptions
            Of the console.
        usage : str or Text
            One line.
        """
        self._formatter().render_usage(console, options, usage)

    def render_description(self, console: Console, options: ConsoleOptions, description: Any) -> None:
        """Print what the command does.

        Parameters
        ----------
        console : Console
            Where it is printed.
        options : ConsoleOptions
            Of the console.
        description : renderable
            Paragraphs and examples.
        """
        self._formatter().render_description(console, options, description)

    @staticmethod
    def _formatter() -> DefaultFormatter:
        from cyclopts.help import DefaultFormatter

        return DefaultFormatter()

"""Formulas as MathML, which browsers draw by themselves: pages need neither a script nor the network."""

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

_BARE_FRACTION = re.compile(r"(\\[td]?frac)(\d)(\d)")


def mathml(text: str, *, as_block: bool) -> str:
    r"""Return a formula of LaTeX in MathML; docutils reads ``\tfrac12`` only with braces.

    Examples
    --------
    >>> "<mn>1</mn><mn>2</mn>" in mathml(r"\tfrac12 x", as_block=False)
    True
    """
    return tex2mathml(_BARE_FRACTION.sub(r"\1{\2}{\3}", text), as_block=as_block)


def visit_math(self: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line."""
    self.body.append(mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def visit_math_block(self: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula of its own."""
    self.body.append(f'<div class="formula">{mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

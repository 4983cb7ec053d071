"""How the pages are made: ``sphinx-build -W --keep-going -n docs build/docs`` (extra ``docs``)."""

import sys
from pathlib import Path

import vjcascade

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_extensions"))

project = "vjcascade"
author = "The vjcascade developers"
project_copyright = author
release = version = vjcascade.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.extlinks",
    "mathml",  # formulas without a script from the network
    "generated_pages",  # the reference, from the package itself
]
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
extlinks = {
    "doi": ("https://doi.org/%s", "doi:%s"),
    "arxiv": ("https://arxiv.org/abs/%s", "arXiv:%s"),
}
smartquotes = False  # or --resume becomes a dash and a word
templates_path: list[str] = []
exclude_patterns = ["_extensions"]

autodoc_typehints = "none"  # the sections of the docstrings have the types, in words
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True}
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
default_role = "py:obj"  # docstrings name things in single backticks; what has an entry becomes a link
nitpick_ignore_regex = [
    ("py:obj", ".*"),
    ("py:class", ".*"),  # bases that have no entry: enumerations, structures of msgspec, private ones
]
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"vjcascade {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {"navigation_with_keys": True}

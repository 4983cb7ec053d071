"""Every dependency has a lowest version that CI can install."""

import re
import tomllib

from markdown_pages import PROJECT


def test_every_dependency_has_a_lowest_version(program):
    tool = program("lowest_versions")
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [
        *project["dependencies"],
        *(one for name in tool.EXTRAS for one in project["optional-dependencies"][name]),
    ]
    found = tool.lowest(wanted)
    assert [line.partition("==")[0] for line in found] == [re.split(r"[\[>]", one)[0] for one in wanted]
    assert tool.lowest(["without-a-bound", "vjcascade[demo]"]) == []

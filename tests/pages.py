"""Pages of HTML taken apart."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "img", "link", "br", "hr", "input"}

HOSTILE = "<script>alert('x')</script>\"'><img src=x onerror=y>`&amp;{{7*7}}"


class Page(HTMLParser):
    """What is in a page; refuses tags that do not match."""

    def __init__(self, html):
        super().__init__()
        self.open, self.tags, self.addresses, self.text = [], [], [], ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        assert not any(name.startswith("on") for name, _ in attrs)
        self.addresses += [
            value for name, value in attrs if name in {"src", "href", "xlink:href", "action", "data"}
        ]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data if self.open and self.open[-1] != "style" else ""


def checked(html):
    """Return a page, once it is whole, without scripts and without anything to load."""
    assert html.startswith("<!DOCTYPE html>")
    page = Page(html)
    assert not {"script", "iframe", "object", "embed", "link", "form", "base"} & set(page.tags)
    assert all(address.startswith(("#", "data:image/png;base64,")) for address in page.addresses)
    assert not re.search(r"url\(|@import|https?:", html)
    return page

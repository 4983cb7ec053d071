"""The page of ``vjcascade label``, started as people start it and driven in Chromium: for benchmarks and tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = ("--no-sandbox", "--use-fake-ui-for-media-stream", "--use-fake-device-for-media-stream")
"""Of the browser: containers have no sandbox, and machines without a camera get a pretended one."""


def chromium() -> str | None:
    """Return the program of a Chromium that is installed, if there is one."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def open_browser() -> Iterator[Any]:
    """Yield a browser."""
    from playwright.sync_api import sync_playwright

    program = chromium()
    if program is None:
        sys.exit(f"no Chromium: none of {', '.join(BROWSERS)} is installed")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(ARGUMENTS))
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def label_server(folder: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Yield the process of ``vjcascade label FOLDER`` and the address of its page; it ends as with Ctrl-C."""
    command = [sys.executable, "-m", "vjcascade", "label", str(folder), "--no-browser", *words]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    )
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if line.startswith("page: "):
                break
        else:
            raise RuntimeError("".join(said))
        yield process, line.split()[1]
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        process.stdout.close()


class Photo:
    """A photo that a page shows, by its place on the sheet; places are in pixels of the photo."""

    def __init__(self, page: Any, place: int = 0) -> None:
        self.page = page
        self.tile = page.locator(".tile").nth(place)
        self.layer = self.tile.locator("svg")
        self.layer.wait_for()

    @property
    def name(self) -> str:
        """What the photo is called."""
        return self.tile.locator("b").inner_text()

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Return where a place is on the screen."""
        area = self.layer.bounding_box()
        _, _, width, height = map(float, self.layer.get_attribute("viewBox").split())
        return area["x"] + x * area["width"] / width, area["y"] + y * area["height"] / height

    def drag(self, start: Sequence[float], end: Sequence[float], *, release: bool = True) -> None:
        """Press at one place, move to another one, and let go there."""
        mouse = self.page.mouse
        mouse.move(*self.at(*start))
        mouse.down()
        mouse.move(*self.at((start[0] + end[0]) / 2, (start[1] + end[1]) / 2))
        mouse.move(*self.at(*end))
        if release:
            mouse.up()

"""What the page of ``vjcascade label`` saves, and how quickly it answers; both measured in Chromium.

``python tools/bench_labelling.py actions PHOTOS BOXES`` has a script label photos from nothing, as somebody would who knows
the true boxes (a CSV ``file,x,y,w,h``), until enough boxes are right: once without a model, once with its proposals. It
counts what hands do: keys, clicks and drags. Without a model each box is a drag, and each sheet of photos a key. With one,
a wrong box among those that would be accepted takes a click, a right one among the unsure a click, and what it missed a drag;
where the model is surer or less sure than it should be, a key moves the line between both on the whole sheet.

``python tools/bench_labelling.py latency PHOTOS`` enlarges photos to 12 megapixels and goes through them, one on a screen, with
a model that searches them meanwhile: how long from a key to the next photo on the screen, from the end of a drag to the box on
the disk, and how long every request takes; at last its mistakes on these photos are looked at.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from labelling_page import Photo, label_server, open_browser

from vjcascade.evaluation.matching import IoU, Matches
from vjcascade.imaging import as_jpeg, read_image

MIN_OVERLAP = 0.5
"""Intersection over union from which a box is right."""

QUALITY = 92

NEXT_PHOTO = """key => new Promise((resolve) => {
  const name = () => document.querySelector('.tile b').textContent, before = name(), began = performance.now();
  dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  const look = () => {
    const image = document.querySelector('.stage img'), layer = document.querySelector('.tile svg');
    const isThere = name() !== before && image.complete && image.naturalWidth > 0 && layer.hasAttribute('viewBox');
    if (!isThere) { requestAnimationFrame(look); return; }
    image.decode().then(() => requestAnimationFrame(() => resolve(performance.now() - began)), () => requestAnimationFrame(look));
  };
  requestAnimationFrame(look);
})"""
"""Presses a key; returns the milliseconds until another photo is on the screen, decoded."""

WATCH_SAVING = """() => {
  window.saved = [];
  let began = 0;
  addEventListener('pointerup', () => { began = performance.now(); }, true);
  new MutationObserver(() => {
    if (began && document.getElementById('saved').textContent === 'All saved') { window.saved.push(performance.now() - began); began = 0; }
  }).observe(document.getElementById('saved'), { childList: true, characterData: true, subtree: true });
}"""
"""Notes the milliseconds from the end of a drag to the word that the server has it on the disk."""

PROPOSALS = """layer => [...layer.querySelectorAll('.proposal')].map((one) => ({
  id: one.dataset.id, isSure: one.classList.contains('sure'), score: Number(one.querySelector('text').textContent),
  box: ['x', 'y', 'width', 'height'].map((side) => Number(one.querySelector('.line').getAttribute(side))),
}))"""
"""What a photo shows that may be accepted."""

SAVED = "document.getElementById('saved').textContent === 'All saved'"
"""Whether the server has all on its disk."""

NEWS = 150
"""Milliseconds after which a page has heard of it."""

SEARCHED = "!document.getElementById('counts').textContent.includes('searched')"
"""Whether the model has seen all photos."""

REQUESTS = """() => performance.getEntriesByType('resource').filter((one) => !one.name.endsWith('events'))
  .map((one) => [new URL(one.name).pathname.split('/').slice(2).join('/'), one.responseEnd - one.startTime])"""


@dataclass
class Hands:
    """Counts what is done, and does it."""

    page: Any
    done: Counter[str] = field(default_factory=Counter)

    def key(self, name: str) -> None:
        """Press a key."""
        self.done["keys"] += 1
        self.page.keyboard.press(name)

    def click(self, place: Any) -> None:
        """Click on a place."""
        self.done["clicks"] += 1
        place.click(timeout=5000)

    def decide(self, photo: Photo, proposal: str, *, accept: bool) -> None:
        """Click on the badge of a proposal; where another one covers it, choose the box, and press a key."""
        badge = photo.layer.locator(f'.badge[data-of="{proposal}"]')
        area = badge.bounding_box(timeout=2000)
        if area is None:  # drawn anew just now: it is looked for again
            return
        middle = [area["x"] + area["width"] / 2, area["y"] + area["height"] / 2]
        find = "([x, y]) => document.elementFromPoint(x, y)?.closest('.badge')?.dataset.of"
        if self.page.evaluate(find, middle) == proposal:
            self.click(badge)
            return
        photo.layer.locator(f'[data-id="{proposal}"]').focus()
        self.done["clicks"] += 1
        self.key("a" if accept else "r")

    def point_at(self, photo: Photo, proposal: dict[str, Any]) -> bool:
        """Move the pointer onto a proposal, where no other one covers it; tell whether there is such a place."""
        x, y, w, h = proposal["box"]
        find = "([x, y]) => document.elementFromPoint(x, y)?.closest('[data-id]')?.dataset.id"
        for share in (0.5, 0.2, 0.8):
            place = photo.at(x + share * w, y + 0.5 * h)
            if self.page.evaluate(find, list(place)) == proposal["id"]:
                self.page.mouse.move(*place)
                return True
        return False

    def draw(self, photo: Photo, box: Sequence[float]) -> None:
        """Draw a box from a corner under which there is nothing, or with Alt where there is no such corner."""
        x, y, w, h = box
        ways = [
            ((x, y), (x + w, y + h)),
            ((x + w, y), (x, y + h)),
            ((x, y + h), (x + w, y)),
            ((x + w, y + h), (x, y)),
        ]
        free = next((way for way in ways if self._is_free(photo, way[0])), None)
        if free is None:
            self.done["keys"] += 1
            self.page.keyboard.down("Alt")
        photo.drag(*(free or ways[0]))
        if free is None:
            self.page.keyboard.up("Alt")
        self.done["drags"] += 1

    def _is_free(self, photo: Photo, corner: Sequence[float]) -> bool:
        x, y = photo.at(*corner)
        find = "([x, y]) => !document.elementFromPoint(x, y)?.closest('[data-id], [data-handle], .badge, .touch')"
        return bool(self.page.evaluate(find, [x, y]))

    @property
    def total(self) -> int:
        """Keys, clicks and drags."""
        return sum(self.done.values())

    @property
    def presses(self) -> int:
        """A drag is two: the button goes down, and up somewhere else."""
        return self.total + self.done["drags"]


def true_boxes(path: Path) -> dict[str, list[list[float]]]:
    """Return the boxes of a CSV by the names of their pictures, without folders."""
    boxes = defaultdict(list)
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            boxes[Path(row["file"]).name].append([float(row[side]) for side in "xywh"])
    return boxes


def n_right(folder: Path, truth: dict[str, list[list[float]]]) -> tuple[int, int]:
    """Return how many boxes on the disk are right, and how many there are."""
    path = folder / "labels.json"
    if not path.exists():
        return 0, 0
    coco = json.loads(path.read_text())
    names = {one["id"]: one["file_name"] for one in coco["images"]}
    boxes = defaultdict(list)
    for one in coco["annotations"]:
        boxes[names[one["image_id"]]].append(one["bbox"])
    rule = IoU(MIN_OVERLAP)
    hits = (
        int(rule.match(found, [1.0] * len(found), truth[name]).hits.sum()) for name, found in boxes.items()
    )
    return sum(hits), len(coco["annotations"])


def label_until(
    page: Any, folder: Path, truth: dict[str, list[list[float]]], wanted: int, sheet: int
) -> Hands:
    """Label photos until enough boxes are right; return what it took."""
    page.evaluate("count => localStorage.setItem('vjcascade-count', count)", str(sheet))
    page.reload()  # the screen before, with another number of photos, must not be taken for the first one
    page.locator(".tile, .empty").first.wait_for()
    hands = Hands(page)
    while n_right(folder, truth)[0] < wanted:
        page.wait_for_function(
            "!document.querySelector('.tile') || ![...document.querySelectorAll('.tile input')].some((one) => one.disabled)"
        )
        page.wait_for_function(
            "![...document.querySelectorAll('.message')].some((one) => !one.hidden)", timeout=60_000
        )
        photos = [Photo(page, place) for place in range(page.locator(".tile").count())]
        if not photos:
            break
        for photo in photos:
            draw_missed(hands, photo, truth[photo.name])
        draw_line(hands, photos, truth)
        for photo in photos:
            correct_photo(hands, photo, truth[photo.name])
        before = photos[0].name
        hands.key("Enter")
        page.wait_for_function("name => document.querySelector('.tile b')?.textContent !== name", arg=before)
        page.wait_for_function(SAVED)
    return hands


def draw_missed(hands: Hands, photo: Photo, truth: Sequence[Sequence[float]]) -> None:
    """Draw what has no proposal; one beside the object is gone then."""
    _, matches = judged(photo, truth)
    found = set(matches.objects[matches.hits].tolist())
    for number, box in enumerate(truth):
        if number not in found:
            hands.draw(photo, box)
            hands.page.wait_for_function(SAVED)
            hands.page.wait_for_timeout(NEWS)


def draw_line(hands: Hands, photos: Sequence[Photo], truth: dict[str, list[list[float]]]) -> None:
    """Move the line between sure and unsure on the whole sheet, if that saves more than the key that it takes."""
    rows = []
    for photo in photos:
        proposals, matches = judged(photo, truth[photo.name])
        rows += [(photo, one, hit) for one, hit in zip(proposals, matches.hits.tolist(), strict=True)]

    def n_wrong(score: float) -> int:
        return sum((one["score"] >= score) != hit for _, one, hit in rows)

    n_now = sum(one["isSure"] != hit for _, one, hit in rows)
    photo, one, _ = min(rows, key=lambda row: n_wrong(row[1]["score"]), default=(None, None, False))
    if photo is not None and n_wrong(one["score"]) + 1 < n_now and hands.point_at(photo, one):
        hands.key("s")


def correct_photo(hands: Hands, photo: Photo, truth: Sequence[Sequence[float]]) -> None:
    """Accept what is right though unsure, and reject what is wrong though sure, one after the other."""
    while True:  # each decision may change what else is shown, as soon as the server has it
        hands.page.wait_for_function(SAVED)
        hands.page.wait_for_timeout(NEWS)
        proposals, matches = judged(photo, truth)
        hits = dict(zip([one["id"] for one in proposals], matches.hits.tolist(), strict=True))
        wrong = next((one for one in proposals if hits[one["id"]] != one["isSure"]), None)
        if wrong is None:
            return
        hands.decide(photo, wrong["id"], accept=hits[wrong["id"]])


def judged(photo: Photo, truth: Sequence[Sequence[float]]) -> tuple[list[dict[str, Any]], Matches]:
    """Return what a photo shows that may be accepted, and which of it is right."""
    proposals = photo.layer.evaluate(PROPOSALS)
    boxes, scores = [one["box"] for one in proposals], [one["score"] for one in proposals]
    true = np.array(truth).reshape(-1, 4)
    return proposals, IoU(MIN_OVERLAP).match(np.array(boxes).reshape(-1, 4), scores, true)


def count_actions(arguments: argparse.Namespace) -> None:
    truth = true_boxes(arguments.boxes)
    names = [path for path in sorted(arguments.photos.iterdir()) if path.name in truth][: arguments.n_photos]
    ways = {"without a model, by name": ("name", [])}
    ways |= {f"proposals, order {order}": (order, ["--model", arguments.model]) for order in arguments.orders}
    without = None
    n_objects = sum(len(truth[path.name]) for path in names)
    print(
        f"{len(names)} photos with {n_objects} objects, {arguments.sheet} on a sheet; until {arguments.wanted} boxes are right"
    )
    print(
        "| | keys | clicks | drags | actions | of those without | presses | of those without | right boxes | boxes | seconds |"
    )
    print("|---" * 11 + "|")
    with open_browser() as browser:
        for way, (order, words) in ways.items():
            with copied(names) as folder, label_server(folder, "--labels", "face", *words) as (_, address):
                page = browser.new_context(
                    viewport={"width": 1920, "height": 1080}, bypass_csp=True
                ).new_page()
                page.goto(address)
                page.wait_for_selector("html[data-ready]")
                page.wait_for_function(SEARCHED, timeout=600_000)
                page.reload()
                page.wait_for_selector("html[data-ready]")
                began = time.monotonic()
                page.locator("#order").select_option(order)
                hands = label_until(page, folder, truth, arguments.wanted, arguments.sheet)
                without = without or hands
                cells = [hands.done[kind] for kind in ("keys", "clicks", "drags")]
                cells += [hands.total, f"{hands.total / without.total:.3f}"]
                cells += [hands.presses, f"{hands.presses / without.presses:.3f}"]
                cells += [*n_right(folder, truth), round(time.monotonic() - began)]
                print(f"| {way} | {' | '.join(map(str, cells))} |", flush=True)
                page.context.close()


@contextmanager
def copied(paths: Sequence[Path]) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as place:
        for path in paths:
            shutil.copy(path, place)
        yield Path(place)


def enlarge(source: Path, target: Path, megapixels: float) -> None:
    """Write a photo anew with more pixels and some noise: enlarged pixels alone would be decoded too easily."""
    from PIL import Image

    picture = Image.fromarray(read_image(source)).convert("RGB")
    factor = (megapixels * 1e6 / (picture.width * picture.height)) ** 0.5
    large = np.asarray(
        picture.resize(
            (round(picture.width * factor), round(picture.height * factor)), Image.Resampling.BICUBIC
        )
    )
    noise = np.random.default_rng(0).normal(0, 6, large.shape[:2])[:, :, np.newaxis]
    target.write_bytes(as_jpeg(np.clip(large + noise, 0, 255).astype(np.uint8), QUALITY))


def measure_latency(arguments: argparse.Namespace) -> None:
    import os

    with tempfile.TemporaryDirectory() as place, open_browser() as browser:
        folder = Path(place)
        for path in sorted(arguments.photos.iterdir())[: arguments.n_photos]:
            enlarge(path, folder / f"{path.stem}.jpg", arguments.megapixels)
        sizes = [path.stat().st_size for path in folder.iterdir()]
        print(
            f"{len(sizes)} photos of {arguments.megapixels:g} megapixels, {np.mean(sizes) / 1e6:.1f} MB each; {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; {arguments.pause:g} s for each photo"
        )
        with label_server(folder, "--model", arguments.model) as (_, address):
            page = browser.new_context(viewport={"width": 1920, "height": 1080}, bypass_csp=True).new_page()
            page.goto(address)
            page.wait_for_selector("html[data-ready]")
            page.locator("#count").select_option("1")
            page.wait_for_function("document.querySelector('.stage img')?.naturalWidth > 0")
            page.evaluate(WATCH_SAVING)
            page.evaluate("performance.setResourceTimingBufferSize(100_000)")
            shown = []
            for _ in range(len(sizes) - 2):
                time.sleep(arguments.pause)
                photo = Photo(page)
                area = photo.layer.get_attribute("viewBox").split()
                width, height = float(area[2]), float(area[3])
                photo.drag((0.02 * width, 0.85 * height), (0.12 * width, 0.97 * height))
                page.wait_for_function(SAVED)
                shown.append(page.evaluate(NEXT_PHOTO, "PageDown"))
            saved = page.evaluate("window.saved")
            look_at_mistakes(page)
            requests = defaultdict(list)
            for name, taken in page.evaluate(REQUESTS):
                requests[name].append(taken)
    print("| milliseconds | n | median | 95 % | most |\n|---|---|---|---|---|")
    print(row("a key, until the next photo is on the screen", shown))
    print(row("a drag, until the box is on the disk", saved))
    for name in sorted(requests):
        print(row(f"requests for {name}", requests[name]))
    print(row("all requests", [taken for one in requests.values() for taken in one]))
    print(f"load afterwards {os.getloadavg()[0]:.1f}")


def look_at_mistakes(page: Any) -> None:
    """Mark the photos as done, have the model reviewed on them, and go down the wall of its mistakes."""
    page.evaluate(
        "async () => { const rows = await (await fetch('queue?order=name')).json();"
        "  await fetch('changes', { method: 'POST',"
        "    body: JSON.stringify(rows.map(([photo]) => ({ do: 'done', photo, done: true }))) }); }"
    )
    page.locator("nav [data-tab=review]").click()
    page.get_by_role("button", name="Search for errors").click()
    page.get_by_role("button", name="Search again").wait_for(timeout=1_200_000)
    for card in page.locator(".mistake").all():
        card.scroll_into_view_if_needed()
        page.wait_for_timeout(100)


def row(name: str, values: Sequence[float]) -> str:
    if not values:
        return f"| {name} | 0 | | | |"
    middle, high = np.percentile(values, [50, 95])
    return f"| {name} | {len(values)} | {middle:.0f} | {high:.0f} | {max(values):.0f} |"


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    actions = commands.add_parser("actions")
    actions.set_defaults(run=count_actions)
    actions.add_argument("photos", type=Path)
    actions.add_argument("boxes", type=Path)
    actions.add_argument("--model", default="frontalface")
    orders = ["quick", "name", "uncertain"]
    actions.add_argument(
        "--orders", nargs="+", choices=orders, default=orders, help="of the photos, with a model"
    )
    actions.add_argument("--n-photos", type=int, default=200)
    actions.add_argument("--wanted", type=int, default=300, help="boxes that shall be right")
    actions.add_argument("--sheet", type=int, default=12, help="photos on a screen")
    latency = commands.add_parser("latency")
    latency.set_defaults(run=measure_latency)
    latency.add_argument("photos", type=Path)
    latency.add_argument("--model", default="frontalface")
    latency.add_argument("--megapixels", type=float, default=12)
    latency.add_argument("--n-photos", type=int, default=60)
    latency.add_argument("--pause", type=float, default=1.0, help="seconds that are spent on a photo")
    return parser.parse_args()


def main() -> None:
    arguments = options()
    arguments.run(arguments)


if __name__ == "__main__":
    main()

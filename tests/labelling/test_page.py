"""The page in a real browser: drawing, moving, undo, proposals, reloads, two tabs, many photos, servers that die."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest
from label_server import FACE, boxes_of, eventually, image_of, noise
from labelling_page import ARGUMENTS, Photo, chromium as chromium_program, label_server

from vjcascade.evaluation.matching import overlaps
from vjcascade.imaging import write_image


@pytest.fixture(scope="module")
def served(serve_folder, tmp_path_factory):
    return serve_folder(noise(tmp_path_factory.mktemp("page") / "photos"))


@pytest.fixture
def fresh(serve_folder, photos):
    return serve_folder(photos)


def test_draw_move_resize_delete_and_undo(fresh, open_page):
    page = open_page(fresh.address)
    photo = Photo(page)
    photo.drag((10, 5), (30, 25))
    box = eventually(lambda: boxes_of(fresh.folder))[0]
    assert box == pytest.approx([10, 5, 20, 20], abs=0.3)
    photo.drag((20, 15), (25, 12))  # inside: moved
    eventually(lambda: boxes_of(fresh.folder)[0] == pytest.approx([15, 2, 20, 20], abs=0.4))
    photo.drag((35, 22), (45, 32))  # at the corner: resized
    eventually(lambda: boxes_of(fresh.folder)[0] == pytest.approx([15, 2, 30, 30], abs=0.5))
    page.keyboard.press("i")
    eventually(lambda: '"ignore":1' in (fresh.folder / "labels.json").read_text())
    page.keyboard.press("Delete")
    eventually(lambda: not boxes_of(fresh.folder))
    for _ in range(2):
        page.keyboard.press("Control+z")
    eventually(
        lambda: boxes_of(fresh.folder) and '"ignore":1' not in (fresh.folder / "labels.json").read_text()
    )
    page.keyboard.press("u")
    eventually(lambda: boxes_of(fresh.folder)[0] == pytest.approx([15, 2, 20, 20], abs=0.4))
    page.keyboard.press("u")
    page.keyboard.press("u")
    eventually(lambda: not boxes_of(fresh.folder))
    page.keyboard.press("Control+y")
    eventually(lambda: boxes_of(fresh.folder))
    eventually(lambda: boxes_of(fresh.folder)[0] == pytest.approx([10, 5, 20, 20], abs=0.3))
    eventually(lambda: page.locator("#saved").inner_text() == "All saved")
    assert page.problems == []


def test_everything_can_be_done_by_keys(fresh, open_page):
    page = open_page(fresh.address)
    Photo(page)
    page.keyboard.press("b")
    first = eventually(lambda: boxes_of(fresh.folder))[0]
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Alt+ArrowRight")
    page.keyboard.press("Alt+ArrowDown")
    wanted = [first[0] + 10, first[1] - 1, first[2] + 1, first[3] + 1]
    eventually(lambda: boxes_of(fresh.folder)[0] == pytest.approx(wanted))
    assert page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("object, ")
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")  # done, and the next photo
    page.locator(".tile b", has_text="b.png").wait_for()
    eventually(lambda: image_of(fresh.folder, "a.png")["done"])
    page.keyboard.press("PageUp")
    page.locator(".tile b", has_text="a.png").wait_for()
    page.keyboard.press("d")
    eventually(lambda: not image_of(fresh.folder, "a.png")["done"])
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()
    assert page.problems == []


def test_labels_shape_zoom_and_export(serve_folder, photos, open_page):
    served = serve_folder(photos, model=None)
    page = open_page(served.address)
    photo = Photo(page)
    page.get_by_placeholder("new kind").fill("sign")
    page.keyboard.press("Enter")
    page.locator("#lock").click()
    photo.drag((5, 5), (25, 9))
    box = eventually(lambda: boxes_of(served.folder))[0]
    assert box[2] == pytest.approx(box[3], abs=0.2)
    assert '"name":"sign"' in (served.folder / "labels.json").read_text()
    page.keyboard.press("1")
    eventually(lambda: '"name":"object"' in (served.folder / "labels.json").read_text())
    before = photo.layer.bounding_box()["width"]
    page.mouse.move(*photo.at(30, 20))
    page.mouse.wheel(0, -400)
    eventually(lambda: photo.layer.bounding_box()["width"] > 2 * before)
    page.keyboard.press("0")
    eventually(lambda: photo.layer.bounding_box()["width"] == pytest.approx(before))
    page.keyboard.press("Enter")
    page.locator(".tile b", has_text="b.png").wait_for()
    eventually(lambda: image_of(served.folder, "a.png")["done"])
    page.locator("#export").select_option("csv")
    eventually((served.folder / "exported-csv.csv").exists)
    assert "object" in (served.folder / "exported-csv.csv").read_text()
    assert page.problems == []


def test_touch_draws_and_pinches(fresh, open_page):
    page = open_page(fresh.address, 390, 844, has_touch=True)
    photo = Photo(page)
    chrome = page.context.new_cdp_session(page)

    def touch(kind, *points):
        places = [dict(zip(("x", "y"), photo.at(*point), strict=True)) for point in points]
        chrome.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    touch("touchStart", (10, 10))
    touch("touchMove", (20, 20))
    touch("touchMove", (30, 30))
    touch("touchEnd")
    assert eventually(lambda: boxes_of(fresh.folder))[0] == pytest.approx([10, 10, 20, 20], abs=0.5)
    before = photo.layer.bounding_box()["width"]
    touch("touchStart", (28, 20))
    touch("touchStart", (28, 20), (32, 20))
    chrome.send(
        "Input.dispatchTouchEvent",
        {"type": "touchMove", "touchPoints": [{"x": 60, "y": 400}, {"x": 330, "y": 400}]},
    )
    touch("touchEnd")
    eventually(lambda: photo.layer.bounding_box()["width"] > 1.5 * before)
    assert len(boxes_of(fresh.folder)) == 1
    assert page.problems == []


def test_a_reload_in_the_middle_of_drawing_keeps_what_was_drawn(fresh, open_page):
    page = open_page(fresh.address)
    photo = Photo(page)
    photo.drag((2, 2), (12, 12))
    photo.drag((20, 20), (35, 35), release=False)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.locator(".box").wait_for()
    assert page.locator(".box").count() == 1
    assert boxes_of(fresh.folder) == [pytest.approx([2, 2, 10, 10], abs=0.3)]
    page.mouse.up()
    Photo(page).drag((20, 20), (35, 35))
    eventually(lambda: len(boxes_of(fresh.folder)) == 2)
    assert page.problems == []


def test_no_screen_is_changed_under_a_drag(fresh, open_page):
    page = open_page(fresh.address)
    photo = Photo(page)
    photo.drag((10, 5), (30, 25), release=False)
    with page.expect_request("**/queue?*"):
        fresh.session.hub.publish("model", model="other.xml")
    page.keyboard.press("PageDown")
    page.mouse.move(*photo.at(40, 35))
    assert photo.name == "a.png"
    page.mouse.up()
    page.locator(".tile b", has_text="b.png").wait_for()
    assert eventually(lambda: boxes_of(fresh.folder)) == [pytest.approx([10, 5, 30, 30], abs=0.3)]
    assert page.problems == []


def test_an_answer_from_before_a_drag_does_not_hide_its_box(fresh, open_page):
    page = open_page(fresh.address)
    photo, held = Photo(page), []
    page.route("**/photos?*", lambda route: held.append((route, route.fetch())))

    def let_pass():
        route, answer = held.pop(0)
        route.fulfill(response=answer)

    photo.drag((2, 2), (12, 12))
    eventually(
        lambda: page.evaluate("1") and held
    )  # the page has heard that it is saved, and asks what is there
    photo.drag((20, 20), (35, 35))
    eventually(
        lambda: len(boxes_of(fresh.folder)) == 2 and page.locator("#saved").inner_text() == "All saved"
    )
    let_pass()
    eventually(lambda: page.evaluate("1") and held)  # asked anew
    assert page.locator(".box").count() == 2
    let_pass()
    assert page.locator(".box").count() == 2
    assert page.problems == []


def test_news_that_overtake_an_answer_are_heard(fresh, open_page):
    page, late = open_page(fresh.address), []
    page.goto("about:blank")  # so that it asks for nothing more
    # The route stays: a request that is made while the browser stops intercepting is never answered.
    page.route(
        "**/photos?*",
        lambda route: route.continue_() if late else late.append((route, route.fetch().json())),
    )
    page.goto(fresh.address)
    eventually(lambda: page.evaluate("1") and late)
    route, found = late[0]
    fresh.session.hub.publish("proposals", name="a.png")
    fresh.session.hub.publish("order", **{**fresh.session.counts(), "n_boxes": 7})
    page.locator("#counts", has_text="7 boxes").wait_for()  # so the news before it have been heard, too
    route.fulfill(json=[{**one, "proposals": None} for one in found])
    Photo(page)
    page.locator(".message").wait_for(state="hidden")
    assert page.problems == []


def test_two_tabs_see_each_other_and_lose_nothing(fresh, open_page):
    one = open_page(fresh.address)
    other = open_page(fresh.address, context=one.context)
    first, second = Photo(one), Photo(other)
    first.drag((2, 2), (12, 12))
    other.locator(".box").wait_for()
    second.drag((30, 20), (45, 35))
    eventually(lambda: one.locator(".box").count() == 2)
    one.bring_to_front()
    first.drag((5, 5), (8, 5))
    eventually(lambda: sorted(round(box[0]) for box in boxes_of(fresh.folder)) == [5, 30])
    eventually(
        lambda: (
            "at 5, 2"
            in other.locator(".box").first.get_attribute("aria-label")
            + other.locator(".box").last.get_attribute("aria-label")
        )
    )
    other.keyboard.press("u")
    eventually(lambda: one.locator(".box").count() == 1)
    assert one.problems == other.problems == []


def test_proposals_are_accepted_rejected_and_nudged(serve_folder, faces, face_model, open_page):
    served = serve_folder(faces, model=face_model)
    page = open_page(served.address)
    page.evaluate(
        "localStorage.setItem('vjcascade-count', '1'); localStorage.setItem('vjcascade-order', 'name')"
    )
    page.reload()
    page.wait_for_selector("html[data-ready]")
    page.locator(".tile b", has_text="astronaut.png").wait_for()
    face = page.locator(".proposal.sure")
    face.first.wait_for()
    photo, middle = Photo(page), (FACE[0] + FACE[2] / 2, FACE[1] + FACE[3] / 2)
    page.locator("#sure").fill("100")
    eventually(lambda: face.count() == 0)
    page.mouse.move(*photo.at(*middle))
    page.keyboard.press("s")
    face.first.wait_for()
    page.keyboard.press("a")
    page.locator(".box").first.wait_for()
    boxes = eventually(lambda: boxes_of(faces, "astronaut.png"))
    assert overlaps(np.array(boxes), np.array([FACE])).max() > 0.5
    page.keyboard.press("u")
    face.first.wait_for()
    eventually(lambda: not boxes_of(faces, "astronaut.png"))
    page.locator(".badge.no").first.click()
    eventually(lambda: image_of(faces, "astronaut.png")["false_alarms"])
    assert page.locator(".proposal.sure").count() == 0
    page.keyboard.press("u")
    eventually(lambda: not image_of(faces, "astronaut.png")["false_alarms"])
    photo.drag(middle, (middle[0] + 4, middle[1]))  # nudged, and so accepted
    eventually(lambda: boxes_of(faces, "astronaut.png"))
    page.keyboard.press("Enter")
    eventually(lambda: image_of(faces, "astronaut.png")["done"])
    page.locator(".tile b", has_text="lawn.png").wait_for()
    assert page.problems == []


def test_enter_takes_what_is_sure_and_goes_on(serve_folder, faces, face_model, open_page):
    served = serve_folder(faces, model=face_model)
    page = open_page(served.address)
    page.locator(".tile").nth(3).wait_for()  # all four on one sheet
    eventually(lambda: page.locator(".tile input:disabled").count() == 0)  # the photos are there
    eventually(lambda: page.locator(".message:visible").count() == 0)  # and so are their proposals
    assert page.locator(".tile .why").all_inner_texts()[0] != ""
    page.keyboard.press("Enter")
    page.locator(".empty").wait_for()
    eventually(lambda: image_of(faces, "mirrored.png")["done"])
    assert all(len(boxes_of(faces, name)) >= 1 for name in ("astronaut.png", "mirrored.png", "pasted.png"))
    assert boxes_of(faces, "lawn.png") == []
    served.session.hub.publish("order", **served.session.counts())
    page.wait_for_timeout(500)
    assert page.locator(".empty").is_visible()  # news do not lead back to what was shown
    page.keyboard.press("u")
    eventually(lambda: not image_of(faces, "mirrored.png")["done"] and not boxes_of(faces, "mirrored.png"))
    assert page.problems == []


def test_two_thousand_photos(serve_folder, tmp_path, open_page):
    folder = tmp_path / "many"
    noise(folder)
    for number in range(1, 1998):
        os.link(folder / "c.jpg", folder / f"photo-{number:04}.jpg")
    served = serve_folder(folder)
    page = open_page(served.address)
    page.locator(".tile b", has_text="a.png").wait_for()
    assert "of 2,000 photos" in page.locator("#counts").inner_text()
    for _ in range(30):
        page.keyboard.press("PageDown")
    page.locator(".tile b", has_text="photo-0028.jpg").wait_for()
    page.keyboard.press("Enter")
    eventually(lambda: "1 of 2,000 photos done" in page.locator("#counts").inner_text())
    page.evaluate(
        """for (const [id, value] of [["filter", "all"], ["count", "2"]]) {
          const choice = document.getElementById(id);
          choice.value = value;
          choice.dispatchEvent(new Event("change"));
        }"""
    )
    eventually(lambda: page.locator(".tile b").all_inner_texts() == ["a.png", "b.png"])
    page.wait_for_timeout(300)  # a screen that came too late would be shown by now
    assert page.locator(".tile b").all_inner_texts() == ["a.png", "b.png"]
    assert page.problems == []


def test_a_page_outlives_its_server(serve_folder, photos, open_page):
    pytest.importorskip("starlette", reason="the extra label is not installed")
    with label_server(photos) as (process, address):
        page = open_page(address)
        photo = Photo(page)
        photo.drag((2, 2), (12, 12))
        eventually(lambda: boxes_of(photos))
        process.kill()
        process.wait()
        photo.drag((20, 2), (32, 12))
        page.locator("#saved.wrong").wait_for()
        page.locator(".box").nth(1).wait_for()
        assert len(boxes_of(photos)) == 1
    again = serve_folder(photos).address
    assert again == address
    eventually(lambda: len(boxes_of(photos)) == 2)
    eventually(lambda: page.locator("#saved").inner_text() == "All saved")


def test_a_killed_browser_leaves_every_box(fresh, chromium):
    playwright = pytest.importorskip("playwright.sync_api")
    browser = chromium.browser_type.launch(executable_path=chromium_program(), args=list(ARGUMENTS))
    processes = browser.new_browser_cdp_session().send("SystemInfo.getProcessInfo")["processInfo"]
    page = browser.new_page()
    page.goto(fresh.address)
    photo = Photo(page)
    for number in range(3):
        photo.drag((2 + 15 * number, 2), (12 + 15 * number, 12))
        page.locator(".box").nth(number).wait_for()
    os.kill(next(one["id"] for one in processes if one["type"] == "browser"), signal.SIGKILL)
    with pytest.raises(playwright.Error, match="closed"):
        page.wait_for_selector(".never")
    eventually(lambda: len(boxes_of(fresh.folder)) == 3)


def test_nothing_is_cut_off_at_any_width(served, open_page):
    page = open_page(served.address)
    Photo(page)
    for width, height, scheme in [(390, 844, "light"), (1024, 768, "dark"), (1920, 1080, "light")]:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        for tab in ("review", "train", "live", "label"):
            page.locator(f"nav [data-tab={tab}]").click()
            page.locator(f"#{tab}").wait_for()
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (width, tab)
        accept = page.locator("#accept").bounding_box()
        assert accept["x"] + accept["width"] <= width
        eventually(lambda least=height / 2: page.locator(".frame").bounding_box()["height"] > least)
        small = page.evaluate(
            "[...document.querySelectorAll('#label button, nav button')].filter((one) => one.offsetHeight < 24).length"
        )
        assert small == 0
    assert page.problems == []


def test_text_has_contrast_in_light_and_dark(served, open_page):
    ratios_of_texts = """() => {
      const luminance = (colour) => {
        const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((n) => n / 255);
        const [r, g, b] = parts.map((n) => n <= 0.03928 ? n / 12.92 : ((n + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const behind = (element) => {
        const colour = getComputedStyle(element).backgroundColor;
        return colour.endsWith(", 0)") && element.parentElement ? behind(element.parentElement) : colour;
      };
      return [...document.querySelectorAll("button:not(:disabled), label, p, h1, b")]
        .filter((element) => element.offsetParent && element.textContent.trim())
        .map((element) => {
          const both = [getComputedStyle(element).color, behind(element)].map(luminance);
          return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
        });
    }"""
    page = open_page(served.address)
    Photo(page)
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        ratios = page.evaluate(ratios_of_texts)
        assert len(ratios) > 8
        assert min(ratios) >= 4.5, scheme


def test_a_photo_that_cannot_be_read_says_so(serve_folder, photos, open_page):
    (photos / "a.png").write_bytes(b"no picture")
    served = serve_folder(photos)
    page = open_page(served.address)
    message = page.locator(".tile .message")
    message.wait_for()
    assert "a.png" in message.inner_text()
    page.keyboard.press("PageDown")
    page.locator(".tile b", has_text="b.png").wait_for()
    Photo(page).drag((2, 2), (12, 12))
    eventually(lambda: boxes_of(photos, "b.png"))


def test_large_photos_are_shown_as_scaled_copies(serve_folder, tmp_path, open_page):
    folder = tmp_path / "large"
    folder.mkdir()
    rng = np.random.default_rng(0)
    coarse = rng.integers(0, 256, (30, 40), np.uint8)
    write_image(folder / "large.jpg", np.kron(coarse, np.ones((40, 40), np.uint8)))
    served = serve_folder(folder)
    page = open_page(served.address, 800, 600)
    eventually(lambda: page.evaluate("document.querySelector('.stage img')?.naturalWidth") or 0)
    assert page.evaluate("document.querySelector('.stage img').naturalWidth") < 1600
    Photo(page).drag((400, 400), (800, 800))
    assert eventually(lambda: boxes_of(folder, "large.jpg"))[0] == pytest.approx([400, 400, 400, 400], abs=6)

"""The exports for JavaScript: run under Node, equal, and a page that asks for nothing from outside."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from vjcascade.detection import detect
from vjcascade.errors import ModelError
from vjcascade.exports import javascript
from vjcascade.exports.javascript import JavaScript, JsonModel, Page
from vjcascade.exports.tables import model_tables

NODE = shutil.which("node") or shutil.which("nodejs")
needs_node = pytest.mark.skipif(not NODE, reason="there is no Node.js here")


def node(script, folder, data=b""):
    (folder / "run.js").write_text(script)
    return subprocess.run([NODE, "run.js"], cwd=folder, input=data, capture_output=True, check=True).stdout


@needs_node
@pytest.mark.parametrize("export", [JavaScript(), Page()])
def test_it_runs_and_is_equal(model, trial, export):
    path = Path(f"my model{export.suffixes[0]}")
    assert export.verify(export.dump(model, path), trial, path).startswith(
        "identical results, run in Node.js"
    )


def test_json_holds_the_model(model, trial):
    data = JsonModel().dump(model, Path("m.json"))
    assert json.loads(data) == model_tables(model)
    assert JsonModel().verify(data, trial, Path("m.json")).startswith("identical results, read back")


@needs_node
def test_the_scanner_takes_another_models_json(model, trial, tmp_path):
    from sample_cascades import accept_all

    (tmp_path / "other.js").write_bytes(JavaScript().dump(accept_all(), Path("other.js")))
    (tmp_path / "m.json").write_bytes(JsonModel().dump(model, Path("m.json")))
    height, width = trial.picture.shape
    script = f"""
        const {{ CascadeDetector }} = require("./other.js");
        const detector = new CascadeDetector(require("./m.json"));
        const data = require("fs").readFileSync(0);
        console.log(JSON.stringify(detector.detect({{ data, width: {width}, height: {height} }})));
    """
    found = json.loads(node(script, tmp_path, trial.picture.tobytes()))
    assert [[box[side] for side in "xywh"] for box in found] == trial.found.boxes.tolist()
    assert [box["score"] for box in found] == trial.found.scores.tolist()
    assert [box["rankingScore"] for box in found] == trial.found.ranking_scores.tolist()
    assert [box["neighbors"] for box in found] == trial.found.neighbors.tolist()


@needs_node
def test_settings_are_the_detectors(model, trial, tmp_path):
    (tmp_path / "m.js").write_bytes(JavaScript().dump(model, Path("m.js")))
    height, width = trial.picture.shape
    all_settings = [
        {"scale_factor": 1.07, "min_neighbors": 4},
        {"min_neighbors": 0, "min_size": [20, 17], "max_size": [40, 33]},
        {"min_neighbors": 1, "min_size": [900, 900]},
        {"scale_factor": 1.5, "min_neighbors": 1, "min_ranking_score": 2.0},
    ]
    script = f"""
        const {{ CascadeDetector }} = require("./m.js");
        const detector = new CascadeDetector();
        const data = require("fs").readFileSync(0);
        const all = {json.dumps(all_settings)};
        const boxes = (settings) => detector.detect({{ data, width: {width}, height: {height} }}, settings);
        console.log(JSON.stringify(all.map((settings) => boxes(settings).map((b) => [b.x, b.y, b.w, b.h]))));
    """
    for settings, boxes in zip(
        all_settings, json.loads(node(script, tmp_path, trial.picture.tobytes())), strict=True
    ):
        expected = detect(trial.picture, model, **{"scale_factor": 1.2, **settings})
        assert boxes == expected.boxes.tolist()


@needs_node
def test_colours_are_weighed_as_by_opencv(model, tmp_path, rng):
    from vjcascade.imaging import to_gray

    (tmp_path / "m.js").write_bytes(JavaScript().dump(model, Path("m.js")))
    pixels = rng.integers(0, 256, (20, 30, 4), np.uint8)
    script = """
        const data = require("fs").readFileSync(0);
        process.stdout.write(require("./m.js").toGrey({ data, width: 30, height: 20 }).data);
    """
    assert node(script, tmp_path, pixels.tobytes()) == to_gray(pixels[:, :, :3]).tobytes()


def test_without_node_the_numbers_are_tried(model, trial, monkeypatch):
    export = JavaScript()
    monkeypatch.setattr(javascript, "INTERPRETERS", ())
    path = Path("m.js")
    assert "the JavaScript was not run" in export.verify(export.dump(model, path), trial, path)
    with pytest.raises(ModelError, match="the export differs for"):
        export.verify(export.dump(model.with_shifted_thresholds(0.3, 1), path), trial, path)


@needs_node
@pytest.mark.parametrize("export", [JavaScript(), Page()])
def test_a_changed_number_is_found(model, trial, export):
    path = Path("m.js")
    with pytest.raises(ModelError, match="the export differs for"):
        export.verify(export.dump(model.with_shifted_thresholds(0.3, 1), path), trial, path)


def test_the_page_asks_for_nothing_from_outside(model):
    page = Page().dump(model, Path("signs.html")).decode()
    assert "default-src 'none'" in page
    outside = r"https?:|\bsrc=|\bhref=|\bimport\b|\bfetch\b|XMLHttpRequest|WebSocket"
    assert re.findall(outside, page) == []
    assert "Window 12x10, 4 stages, 49 weak classifiers over" in page


PAGE_IN_NODE = """
const fs = require("fs");
const scripts = /<script id="scanner">(.*?)<\\/script>\\s*<script>(.*?)<\\/script>/s;
const [, first, second] = fs.readFileSync("page.html", "utf8").match(scripts);
const grey = fs.readFileSync(0);
const [width, height] = [WIDTH, HEIGHT];
const listeners = {};
const elements = {};
const context = (canvas) => ({
  canvas,
  boxes: [],
  drawImage() {},
  strokeRect(...box) { this.boxes.push(box); },
  getImageData: () => ({ width, height, data: Uint8Array.from({ length: 4 * grey.length }, (_, i) => grey[i >> 2]) }),
});
const element = (id) => {
  const made = { id, value: "", files: [], textContent: "" };
  made.addEventListener = (event, call) => { listeners[`${id} ${event}`] = call; };
  made.getContext = () => (made.context = made.context || context(made));
  return made;
};
globalThis.document = {
  getElementById: (id) => (elements[id] = elements[id] || element(id)),
  createElement: (name) => element(name),
};
globalThis.createImageBitmap = async () => ({ width, height });
document.getElementById("width").value = "960";
(0, eval)(first.replace("typeof module === \\"object\\" && module.exports", "false"));
(0, eval)(second);
elements.smallest.value = 0;
elements.file.files = [{ name: "a.png" }];
listeners["file change"]().then(() => {
  console.log(JSON.stringify([elements.state.textContent, elements.view.context.boxes]));
});
"""


@needs_node
def test_the_page_draws_what_is_found(model, trial, tmp_path):
    """The page's own script runs on stand-ins for the document and its canvases."""
    (tmp_path / "page.html").write_bytes(Page().dump(model, Path("window.html")))
    height, width = trial.picture.shape
    script = PAGE_IN_NODE.replace("WIDTH", str(width)).replace("HEIGHT", str(height))
    said, boxes = json.loads(node(script, tmp_path, trial.picture.tobytes()))
    assert said.startswith(f"{len(trial.found)} found in ")
    assert boxes == trial.found.boxes.tolist()

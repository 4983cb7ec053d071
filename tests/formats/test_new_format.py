import json
import re
from pathlib import Path

import builders
import numpy as np
import pytest
from hypothesis import given, settings
from model_files import lbp_cascade
from sample_cascades import accept_all, assert_same, cascade_with, random_cascades

from vjcascade.cascade import Cascade
from vjcascade.errors import ModelError
from vjcascade.formats.cascade_files import dump_cascade, load_cascade, parse_cascade, save_cascade
from vjcascade.formats.new_format import write_new
from vjcascade.types import FeatureType, Size

OPENCV_TRAINED = Path(__file__).resolve().parents[3] / "shared" / "data" / "opencv-trained"
UGLY = {
    "note": "a < b & c > d, \"quoted\" 'so' -- and --- \\-- \t\n\r ]]> --> é 日本 \x7f \x00",
    "-": "-",
    "long": "x" * 100_000,
    "nested": {"list": [1, 2.5, -3e-7, None, True, "12, 13"], "empty": {}},
}


@settings(deadline=None, max_examples=60)
@given(random_cascades())
def test_round_trip_is_the_identity(cascade):
    data = dump_cascade(cascade)
    again = parse_cascade(data, "model.xml")
    assert_same(again, cascade)
    assert dump_cascade(again) == data


def test_round_trip_of_ugly_metadata():
    data = dump_cascade(cascade_with(UGLY))
    assert data.isascii()
    assert parse_cascade(data, "model.xml").metadata == UGLY


def test_metadata_is_readable_and_sorted():
    text = dump_cascade(cascade_with({"booster": "cga", "cost": 2})).decode()
    assert '<vjcascade><!--\n{\n  "booster": "cga",\n  "cost": 2\n}\n  --></vjcascade>' in text
    assert dump_cascade(cascade_with({"b": 1, "a": 2})) == dump_cascade(cascade_with({"a": 2, "b": 1}))
    assert b"vjcascade" not in dump_cascade(cascade_with())


def test_layout_is_that_of_traincascade():
    text = dump_cascade(accept_all()).decode()
    assert re.findall(r"^(?:<|  <)(\w+)", text, flags=re.MULTILINE) == [
        *("opencv_storage", "cascade", "stageType", "featureType", "height", "width"),
        *("stageParams", "featureParams", "stageNum", "stages", "features"),
    ]
    assert "<internalNodes>\n            0 -1 0 0.</internalNodes>" in text
    assert "<leafValues>\n            1. 1.</leafValues></_></weakClassifiers></_></stages>" in text
    assert "<_>\n          0 0 2 2 -1.</_>" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2, "2."),
        (-0.0, "-0."),
        (0.1, "0.1"),
        (1e-5, "1e-05"),
        (1e20, "1e+20"),
        (3.4028234663852886e38, "3.4028235e+38"),
        (7.038530691851209e-26, "7.038530691851209e-26"),  # 7.038531e-26 would come back as its neighbour
    ],
)
def test_numbers_are_short(value, text):
    cascade = cascade_with(thresholds=[value])
    assert f"<stageThreshold>{text}</stageThreshold>" in dump_cascade(cascade).decode()
    assert_same(parse_cascade(dump_cascade(cascade), ""), cascade)


@pytest.mark.parametrize("value", [np.float32(1), float("nan"), {1, 2}, object()])
def test_metadata_that_is_not_json_is_not_written(value):
    with pytest.raises(ModelError, match="metadata is not plain JSON"):
        dump_cascade(cascade_with({"value": value}))


def test_lenient_where_real_files_need_it():
    cascade = cascade_with()
    text = dump_cascade(cascade).decode()
    text = re.sub(r"<(stageNum|maxWeakCount)>\d</\1>|<tilted>0</tilted>", "", text)
    text = re.sub(r"<stageParams>.*</featureParams>", "<!-- settings -->", text, flags=re.DOTALL)
    text = text.replace('<cascade type_id="opencv-cascade-classifier">', "<anything>")
    text = text.replace("</cascade>", "</anything><other>1</other>")
    assert_same(parse_cascade(b"\xef\xbb\xbf" + text.encode(), ""), cascade)


@pytest.mark.data
def test_file_of_traincascade_loads():
    path = OPENCV_TRAINED / "haar-basic-4-stages.xml"
    if not path.exists():
        pytest.skip(f"no {path}")
    cascade = load_cascade(path)
    assert cascade.window == Size(24, 24)
    assert cascade.stage_sizes.sum() == cascade.n_trees == 22
    assert cascade.stage_thresholds[0] == np.float32(-1.0608479976654053)
    assert_same(parse_cascade(dump_cascade(cascade), ""), cascade)


@pytest.mark.oracle
@pytest.mark.parametrize(
    "cascade",
    [
        accept_all(),
        accept_all().with_metadata(UGLY),
        cascade_with(UGLY),
        cascade_with({"é": json.dumps(UGLY)}),
        lbp_cascade(UGLY),
    ],
    ids=["accept all", "with metadata", "trees", "JSON in JSON", "LBP"],
)
def test_opencv_loads_what_we_write(oracle, tmp_path, cascade):
    save_cascade(cascade, tmp_path / "model.xml")
    answer = oracle("can_load", xml=tmp_path / "model.xml")
    assert answer["loaded"]
    assert tuple(answer["window"]) == cascade.window


@pytest.mark.oracle
def test_opencv_reads_the_same_numbers(oracle, tmp_path, rng):
    values = rng.integers(0, 2**32, 20_000, dtype=np.uint32).view(np.float32)
    values = np.append(
        values[np.isfinite(values)], np.float32([7.038530691851209e-26, 1e-45, 3.4028234e38, -0.0, 1e7])
    )
    n_trees = len(values) // 2
    starts = np.arange(n_trees + 1, dtype=np.int32)
    stump = accept_all()
    cascade = Cascade(
        stump.window,
        stump.features,
        np.repeat(stump.nodes, n_trees),
        starts,
        values[: 2 * n_trees],
        starts[[0, -1]],
        stump.stage_thresholds,
    )
    save_cascade(cascade, tmp_path / "model.xml")
    read = oracle("leaf_values", xml=tmp_path / "model.xml")["leaves"].astype(np.float32)
    assert read.tobytes() == cascade.leaves.tobytes()


def test_round_trip_of_lbp_is_the_identity():
    cascade = lbp_cascade({"note": "LBP"})
    assert_same(parse_cascade(dump_cascade(cascade), ""), cascade)


def test_layout_of_lbp_is_that_of_traincascade():
    text = dump_cascade(lbp_cascade()).decode()
    assert "<maxCatCount>256</maxCatCount>\n    <featSize>1</featSize></featureParams>" in text
    assert "<internalNodes>\n            0 -1 1 1 2 3 -2147483648 0 0 -1 7</internalNodes>" in text
    assert "<_>\n      <rect>\n        2 3 1 2</rect></_>" in text


def test_lbp_file_of_scikit_image_loads():
    from skimage.data import lbp_frontal_face_cascade_filename

    path = Path(lbp_frontal_face_cascade_filename())
    assert b"<featuhreParams>" in path.read_bytes()
    cascade = load_cascade(path)
    assert cascade.feature_type is FeatureType.LBP
    assert (cascade.window, cascade.n_stages, cascade.n_trees) == (Size(24, 24), 20, 139)
    first = [-67130709, -21569, -1426120013, -1275125205, -21585, -16385, 587145899, -24005]
    assert cascade.nodes["subset"][0].view(np.int32).tolist() == first
    assert cascade.features["cell"][-1].tolist() == [18, 0, 2, 2]
    assert_same(parse_cascade(dump_cascade(cascade), ""), cascade)


def test_one_rectangle_gets_a_second_one_of_no_weight():
    text = re.sub(r"<_>\s+4 0 4 8 2.</_>", "", dump_cascade(cascade_with()).decode())
    feature = parse_cascade(text.encode(), "").features[0]
    assert feature["rects"].tolist() == [[0, 0, 8, 8], [0, 0, 8, 8], [0, 0, 0, 0]]
    assert feature["weights"].tolist() == [-1, 0, 0]


def test_third_rectangle_of_no_weight_is_kept():
    text = dump_cascade(cascade_with()).decode().replace("8 4 1 3 0.5", "8 4 1 3 0")
    feature = parse_cascade(text.encode(), "").features[1]
    assert feature["rects"][2].tolist() == [8, 4, 1, 3]
    assert feature["weights"][2] == 0


@pytest.mark.parametrize(
    ("recorded", "tilted", "mode"),
    [
        ("basic", False, "BASIC"),
        ("core", False, "CORE"),
        ("all", False, "ALL"),
        ("all", True, "ALL"),
        ("basic", True, "ALL"),
        (None, False, "CORE"),
        (3, True, "ALL"),
        ("<script>", False, "CORE"),
    ],
)
def test_the_mode_is_that_of_the_training(rng, recorded, tilted, mode):
    cascade = builders.random_cascade(rng, tilted_share=float(tilted))
    cascade = cascade.with_metadata({} if recorded is None else {"settings": {"mode": recorded}})
    assert f"<mode>{mode}</mode>" in write_new(cascade)

"""Command lines of `opencv_traincascade`, and its runs that were interrupted."""

from __future__ import annotations

import shlex
import sys

import builders
import numpy as np
import pytest
from easy_pictures import contents, easy_positive
from opencv_runs import pool_of, write_run
from sample_cascades import assert_same

from vjcascade import Cascade, Size
from vjcascade.cascade import LBP_NODE_DTYPE, NODE_DTYPE
from vjcascade.cli import main
from vjcascade.cli.opencv_traincascade import OLD_MODEL_NAME, PROGRAM
from vjcascade.formats.annotations.vec_files import write_vec
from vjcascade.imaging import read_gray
from vjcascade.types import LBP_DTYPE, FeatureType

SMALL = "-numStages 1 -maxWeakCount 4 -numNeg 100"


@pytest.fixture
def old(easy, monkeypatch):
    """Return the folder of an old project: `pos.vec`, `bg.txt`, its pictures; it is the current one."""
    write_vec(easy / "pos.vec", np.stack([read_gray(path) for path in sorted((easy / "pos").iterdir())]))
    (easy / "bg.txt").write_text("".join(f"neg/{path.name}\n" for path in sorted((easy / "neg").iterdir())))
    monkeypatch.chdir(easy)
    return easy


@pytest.fixture
def train(run):
    """Return `train(options) -> Ran`, with what every command line needs."""
    return lambda options: run("train", *shlex.split(f"-data out -vec pos.vec -bg bg.txt {options}"))


def words_of(options):
    """Return the command line of vjcascade that trains, without what every one begins with."""
    ((*words,),) = PROGRAM.translated(shlex.split(f"-data out -vec p.vec -bg bg.txt {options}")).commands
    assert words[:3] == ["train", "p.vec", "bg.txt"]
    return shlex.join(words[3:])


def note_on(option, options):
    notes = PROGRAM.translated(shlex.split(f"-data out -vec p.vec -bg bg.txt {options}")).notes
    (note,) = (note for note in notes if note.startswith(f"  {option}"))
    return note.partition(": ")[2]


def test_defaults_are_those_of_opencv(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert words_of("") == (
        "--window 24x24 --features haar --mode basic --booster gentle --negatives 1000 --stages 20 --hit-rate 0.995 "
        "--false-alarm-rate 0.5 --max-depth 1 --max-weak 100 --output out --target-false-alarm-rate 9.54e-07 "
        "--no-baseline"
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("-w 30 -h 20", "--window 30x20"),
        ("-featureType LBP", "--features lbp"),
        ("-mode ALL", "--mode all"),
        ("-bt DAB", "--booster adaboost"),
        ("-bt RAB", "--booster real"),
        ("-bt LB", "--booster logit"),
        ("-bt GAB", "--booster gentle"),
        ("-numNeg 3000", "--negatives 3000"),
        ("-numPos 7000", "--max-samples 14000"),
        ("-numPos 1000 -numNeg 12000", "--max-samples 13000"),
        ("-numStages 7", "--stages 7"),
        ("-minHitRate 0.999", "--hit-rate 0.999"),
        ("-maxFalseAlarmRate 0.3", "--false-alarm-rate 0.3"),
        ("-maxDepth 2", "--max-depth 2"),
        ("-maxWeakCount 50", "--max-weak 50"),
        ("-numThreads 2", "--threads 2"),
        ("-acceptanceRatioBreakValue 1e-4", "--target-false-alarm-rate 1e-4"),
        ("-numStages 30", "--target-false-alarm-rate 9.31e-10"),
        ("--seed 4 --copies 0", "--seed 4 --copies 0"),
        ("--baseline", "--baseline"),
        ("--booster cost-sensitive", "--booster cost-sensitive"),
    ],
)
def test_options_are_used(options, words):
    assert f" {words} " in f" {words_of(options)} "


@pytest.mark.parametrize(
    ("options", "not_there"),
    [
        ("-featureType LBP -mode ALL", "--mode"),
        ("-numStages 5", "--target"),
        ("-acceptanceRatioBreakValue -1 -numStages 5", "--target"),
        ("-numPos 5000", "--max-samples"),
        ("--baseline", "--no-baseline"),
        ("--booster cost-sensitive", "--booster gentle"),
    ],
)
def test_nothing_is_said_where_nothing_is_needed(options, not_there):
    assert not_there not in words_of(options)


@pytest.mark.parametrize(
    ("option", "value", "became"),
    [
        ("-minHitRate", "0.99", "used as --hit-rate 0.99"),
        ("-h", "30", "used as --window 24x30"),
        ("-numPos", "900", "not needed, because all positives are trained on"),
        ("-precalcValBufSize", "2048", "not needed, because memory is planned"),
        ("-precalcIdxBufSize", "2048", "not needed, because memory is planned"),
        ("-weightTrimRate", "0.95", "not needed, because no window is left out"),
        ("-stageType", "BOOST", "not needed, because stages are always boosted"),
        ("-acceptanceRatioBreakValue", "-1", "not needed, because 0 and less"),
        ("-numThreads", "2", "used as --threads 2"),
        ("-baseFormatSave", "", f"the old format goes into {OLD_MODEL_NAME}"),
    ],
)
def test_what_became_of_each_option_is_said(option, value, became):
    assert note_on(option, f"{option} {value}").startswith(became)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("-w 24 -h 24", "-data and -vec and -bg must be given"),
        ("-data out -vec p.vec", "-bg must be given"),
        ("-data o -vec p -bg b -maxFalseAlarm 0.3", "not an option of opencv_traincascade; did you mean '-maxFalse"),
        ("-data o -vec p -bg b -x", "-x is not an option of opencv_traincascade; choose from: -data"),
        ("-x 3 -data o -vec p -bg b", "-x is not an option"),
        ("-data o -vec p -bg b -numStages", "-numStages has no value"),
        ("-data o -vec p -bg b -w -h 24", "-w has no value"),
        ("-data o -vec p -bg b -w 24 -w 20", "-w is given twice"),
        ("-data o -vec p -bg b -featureType HOG", "HOG is not trained here, and no OpenCV since 3.0 detects with it"),
        ("-data o -vec p -bg b -featureType haar", "-featureType 'haar' is not known; did you mean 'HAAR'?"),
        ("-data o -vec p -bg b -bt GBA", "-bt 'GBA' is not known"),
        ("-data o -vec p -bg b -mode FULL", "-mode 'FULL' is not known"),
        ("-data o -vec p -bg b -stageType SVM", "-stageType 'SVM' is not known"),
        ("-data o -vec p -bg b -featureType LBP -baseFormatSave", "-baseFormatSave: the old format has no LBP"),
        ("-data o -vec p -bg b -w 2.5", "-w '2.5' is not a whole number"),
        ("-data o -vec p -bg b -numStages 0", "-numStages '0' is not a whole number from 1"),
        ("-data o -vec p -bg b -numPos 99999999999999999999", "-numPos '99999999999999999999' is not a whole"),
        (f"-data o -vec p -bg b -numPos {'9' * 5000}", "is not a whole number from 1 to 9999999"),
        ("-data o -vec p -bg b -acceptanceRatioBreakValue inf", "--target-false-alarm-rate inf is not in (0, 1]"),
        ("-data o -vec p -bg b -maxFalseAlarmRate nan", "--false-alarm-rate nan is not in (0, 1)"),
        ("-data o -vec p -bg b -maxFalseAlarmRate half", "-maxFalseAlarmRate 'half' is not a number"),
        ("-data o -vec p -bg b -maxFalseAlarmRate 2", "--false-alarm-rate 2.0 is not in (0, 1)"),
        ("-data o -vec p -bg b -maxDepth 9", "--max-depth 9 is not a whole number from 1 to 4"),
        ("-data o -vec p -bg b -minHitRate 1.5", "--hit-rate 1.5 is not in (0, 1]"),
        ("-data o -vec p -bg b -numNeg 100 --negatives 200", "-numNeg and --negatives say the same"),
        ("-data o -vec p -bg b --x 200", "Unknown option: --x"),
        ("crops photos -w 24 -h 24", "as 'crops': write -data FOLDER -vec FILE -bg FILE, or all in"),
        ("-data o crops photos", "as 'crops'"),
        ("crops photos -h", "-h is used with other arguments"),
        ("-datta out", "Unknown option: -datta"),
    ],
)  # fmt: skip
def test_what_is_not_understood_is_an_error(run, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    ran = run("train", *words.split())
    assert (ran.code, ran.out) == (2, "")
    assert sentence in ran.err
    assert not list(tmp_path.iterdir())


def test_the_program_understands_them(old, monkeypatch, capsys):
    monkeypatch.setattr(
        sys, "argv", ["train-cascade", *["-data", "out", "-vec", "pos.vec", "-bg", "bg.txt"], *SMALL.split()]
    )
    with pytest.raises(SystemExit) as end:
        main.train_main()
    assert end.value.code == 0
    assert Cascade.load("out/cascade.xml").n_stages == 1
    err = capsys.readouterr().err
    assert "  -maxWeakCount 4: used as --max-weak 4\n" in err
    assert "in other words: vjcascade train pos.vec bg.txt --window 24x24" in err


def test_the_same_command_line_goes_on_where_the_run_was_stopped(old, train):
    assert train(SMALL).code == 0
    before = contents(old / "out")
    ran = train(f"{SMALL} -numThreads 1")
    assert ran.code == 0
    assert "continuing from out/cascade.xml, which was trained here" in ran.err
    assert Cascade.load("out/cascade.xml").stages_digest == _digest(before, old)
    ran = train(SMALL.replace("-numNeg 100", "-numNeg 120"))
    assert (ran.code, "n_negatives: 100 in the model, 120 now" in ran.err) == (2, True)
    assert train(f"{SMALL.replace('-numNeg 100', '-numNeg 120')} --overwrite").code == 0


def _digest(files, folder):
    data = next(data for path, data in files.items() if path.name == "cascade.xml")
    (folder / "before.xml").write_bytes(data)
    return Cascade.load(folder / "before.xml").stages_digest


def test_the_old_format_is_written_beside(old, train):
    assert train(f"{SMALL} -baseFormatSave").code == 0
    assert "opencv-haar-classifier" in (old / "out" / OLD_MODEL_NAME).read_text()
    assert Cascade.load(old / "out" / OLD_MODEL_NAME).n_stages == 1


def test_a_window_that_the_samples_have_not_is_refused(old, train):
    ran = train(f"{SMALL} -w 20 -h 20")
    assert ran.code == 2
    assert "samples have 576 pixels, but 20x20 has 400; they may be " in ran.err


def test_swapped_sides_are_refused_and_can_be_insisted_on(old, train, rng):
    wide = np.stack([np.ascontiguousarray(easy_positive(rng)[6:18]) for _ in range(30)])
    write_vec(old / "pos.vec", wide)
    ran = train(f"{SMALL} -w 12 -h 24")
    assert (ran.code, (old / "out").exists()) == (2, False)
    assert "may be 12x24 or 24x12, but look like 24x12 with the sides swapped" in ran.err
    assert "--window 12x24 instead of -w and -h" in ran.err
    ran = train(f"{SMALL} --window 12x24")
    assert ran.code == 0
    assert "read as 12x24, as requested, but look like 24x12" in ran.out
    assert Cascade.load(old / "out" / "cascade.xml").window == (12, 24)


def lenient_stages(pool, n):
    """Return stages that let everything pass, each with one feature of the pool."""
    nodes = np.zeros(n, LBP_NODE_DTYPE if pool.dtype == LBP_DTYPE else NODE_DTYPE)
    nodes["feature"], nodes["right"] = np.arange(n), -1
    starts = np.arange(n + 1, dtype=np.int32)
    leaves, thresholds = np.ones(2 * n, np.float32), np.zeros(n, np.float32)
    return Cascade(Size(24, 24), pool[2 + 700 * np.arange(n)], nodes, starts, leaves, starts, thresholds)


@pytest.fixture(scope="module")
def haar_pool():
    return pool_of(Size(24, 24), "basic")


@pytest.fixture
def interrupted(old, haar_pool):
    """Return two stages of a run that was interrupted, in `out`."""
    cascade = lenient_stages(haar_pool, 2)
    write_run(old / "out", cascade, "basic", haar_pool, maxWeakCount="5")
    return cascade


def test_an_interrupted_run_goes_on(interrupted, old, train):
    ran = train("-numStages 3 -maxWeakCount 4 -numNeg 100 -maxFalseAlarmRate 0.5")
    assert ran.code == 0, ran.err
    assert "continuing the run of opencv_traincascade in out, 2 stages so far" in ran.err
    assert "-maxWeakCount 4: not used, because params.xml says 5" in ran.err
    assert "-maxFalseAlarmRate 0.5: used as --false-alarm-rate 0.5" in ran.err
    assert "from params.xml: -featureType HAAR, -w 24, -h 24, -bt GAB, -minHitRate 0.995" in ran.err
    longer = Cascade.load("out/cascade.xml")
    assert longer.n_stages == 3
    assert longer.metadata["settings"]["max_weak"] == 5
    assert_same(longer.first_stages(2).without_unused_features().with_metadata({}), interrupted)
    assert (old / "out" / "stage1.xml").exists()
    again = train("-numStages 3 -numNeg 100")
    assert (again.code, "which was trained here" in again.err) == (0, True)
    assert Cascade.load("out/cascade.xml").stages_digest == longer.stages_digest


def test_it_goes_on_anew_where_that_is_asked_for(interrupted, train):
    assert train("-numStages 3 -numNeg 100").code == 0
    ran = train("-numStages 3 -numNeg 120 --overwrite")
    assert ran.code == 0
    assert "continuing the run of opencv_traincascade in out, 2 stages so far" in ran.err
    longer = Cascade.load("out/cascade.xml")
    assert longer.metadata["settings"]["n_negatives"] == 120
    assert longer.first_stages(2).without_unused_features().stages_digest == interrupted.stages_digest


def test_it_goes_on_by_its_parameters_without_opencvs_words(interrupted, run):
    options = "--stages 3 --negatives 100 --max-weak 5 --output new"
    ran = run("train", "pos", "neg", "--continue", "out/params.xml", *options.split())
    assert ran.code == 0
    assert Cascade.load("new/cascade.xml").n_stages == 3
    assert_same(Cascade.load("out/params.xml"), interrupted)


def test_the_window_is_that_of_its_parameters(interrupted, train):
    ran = train("-numStages 3 -numNeg 100 -w 20 -h 24")
    assert ran.code == 0
    assert "-w 20: not used, because params.xml says 24" in ran.err
    assert "-h 24: used as --window 24x24" in ran.err


@pytest.mark.parametrize(("n_stages", "which"), [(1, "the first 1 of"), (2, "all")])
def test_a_run_that_has_all_stages_is_joined(interrupted, train, n_stages, which):
    ran = train(f"-numStages {n_stages}")
    assert ran.code == 0
    assert (
        f"joining {which} 2 stages of the run of opencv_traincascade in out: nothing is left to train"
        in ran.err
    )
    assert_same(Cascade.load("out/cascade.xml"), interrupted.first_stages(n_stages).without_unused_features())


def test_a_finished_run_gets_more_stages(interrupted, old, train):
    interrupted.save("out/cascade.xml")  # says as little of its training as OpenCV's own
    assert train("-numStages 3 -numNeg 100").code == 0
    assert Cascade.load("out/cascade.xml").n_stages == 3


def test_parameters_without_stages_count(interrupted, old, train):
    for file in (old / "out").glob("stage*"):
        file.unlink()
    ran = train("-numStages 1 -numNeg 100 -maxWeakCount 9 -minHitRate 0.9")
    assert ran.code == 0
    assert "-minHitRate 0.9: not used, because params.xml says 0.995" in ran.err
    assert Cascade.load("out/cascade.xml").metadata["settings"]["max_weak"] == 5


def test_a_damaged_stage_is_named_and_nothing_is_written(interrupted, old, train):
    damaged = old / "out" / "stage1.xml"
    damaged.write_text(damaged.read_text()[:-60])
    before = contents(old)
    ran = train("-numStages 3")
    assert ran.code == 2
    assert "out/stage1.xml: " in ran.err
    assert contents(old) == before


def test_a_model_of_others_is_not_overwritten(old, train):
    (old / "out").mkdir()
    builders.accept_all(n_stages=1).save("out/cascade.xml")
    before = contents(old)
    ran = train(SMALL)
    assert (ran.code, "already holds a model" in ran.err) == (2, True)
    assert contents(old) == before


def test_stages_of_lbp_features_go_on(old, train):
    pool = pool_of(Size(24, 24), None)
    write_run(old / "out", lenient_stages(pool, 2), None, pool)
    ran = train("-numStages 3 -numNeg 100 -featureType HAAR -mode ALL")
    assert ran.code == 0
    assert "-featureType HAAR: not used, because params.xml says LBP" in ran.err
    assert "-mode ALL: not needed" in ran.err
    longer = Cascade.load("out/cascade.xml")
    assert (longer.n_stages, longer.feature_type) == (3, FeatureType.LBP)

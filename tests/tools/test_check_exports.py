"""The program that tries exports on many windows: a small share of it, and that it notices."""

import shutil

import pytest
from export_models import KINDS, model_of

needs_tools = pytest.mark.skipif(
    not (shutil.which("cc") and shutil.which("node")), reason="there is no C compiler or no Node.js here"
)


@needs_tools
def test_a_share_of_every_kind(run_program, tmp_path):
    for kind in KINDS:
        model_of(kind).save(tmp_path / f"{kind}.xml")
    done = run_program("check_exports.py", tmp_path, "--windows", 500)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.strip("| ").split(" | ") for line in done.stdout.splitlines()[2:]]
    assert len(rows) == 6 * len(KINDS)
    for model, size, export, windows, accepted, _, outcome in rows:
        assert (size, windows) == ("4, 49", "500")
        assert int(accepted) > 0, model
        assert outcome.startswith("refused: " if export == "openmv" else "identical results, ")


def test_a_difference_is_a_failure(program, monkeypatch, tmp_path, capsys):
    check = program("check_exports")
    model_of("stump").save(tmp_path / "m.xml")
    export, path = check.EXPORTS["json"], tmp_path / "m.json"
    other = export.dump(model_of("tree"), path)
    monkeypatch.setattr(export, "dump", lambda *_: other)
    monkeypatch.setattr("sys.argv", ["", str(tmp_path / "m.xml"), "--windows", "500", "--exports", "json"])
    with pytest.raises(SystemExit) as ended:
        check.main()
    assert ended.value.code == 1
    assert "**differs**: the export differs for " in capsys.readouterr().out


def test_what_did_not_run_is_a_failure(program, monkeypatch, tmp_path, capsys):
    check = program("check_exports")
    from vjcascade.exports import c_source

    monkeypatch.setattr(c_source, "COMPILERS", ())
    model_of("stump").save(tmp_path / "m.xml")
    monkeypatch.setattr("sys.argv", ["", str(tmp_path / "m.xml"), "--windows", "500", "--exports", "c"])
    with pytest.raises(SystemExit) as ended:
        check.main()
    assert ended.value.code == 1
    assert "was not run" in capsys.readouterr().out

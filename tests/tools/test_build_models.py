"""The card of a model: it tells of the run that made it, step after step."""

from dataclasses import replace

import build_models
from easy_pictures import easy_positive, save, soft_noise

from vjcascade import Cascade, Preset, preset_settings


def test_a_model_in_two_parts_and_its_card(rng, tmp_path, monkeypatch):
    """From the first run to the file that is kept, of which the card tells all stages."""
    save(tmp_path / "crops", [easy_positive(rng) for _ in range(60)])
    save(tmp_path / "photos", [soft_noise(rng) for _ in range(8)])
    settings = replace(
        preset_settings(Preset.QUICK),
        baseline=False,
        copies=0,
        max_samples=200,
        max_depth=2,
        target_false_alarm_rate=1e-9,
    )
    step = build_models.Step(tmp_path / "crops", tmp_path / "photos", replace(settings, max_stages=2))
    other = replace(step, settings=replace(settings, max_stages=3, hit_rate=0.9), continues=(1, 1))
    recipe = replace(
        build_models.RECIPES["car"],
        steps=lambda *_: [step, other],
        finished=lambda models: models[0].followed_by(models[1], skip=1),
    )
    work = tmp_path / "easy"
    build_models.train_models(recipe, tmp_path, tmp_path, work, resume=False)
    first, second = (Cascade.load(folder / "cascade.xml") for folder in build_models.run_folders(work))
    assert (first.n_stages, second.n_stages) == (2, 3)
    shared = [one.first_stages(1).without_unused_features().stages_digest for one in (first, second)]
    assert shared[0] == shared[1]
    cascade = recipe.finished([first, second])
    text = build_models.card("easy", recipe, cascade, work, "No scenes.")
    assert "Window 24x24, 4 stages" in text
    assert "Stages 3 to 4 are stages 2 to 3 of another model, which begins with the same 1;" in text
    assert [text.count(f"\n| {stage} |") for stage in (1, 2, 3)] == [1, 2, 1]
    assert "60 cars of the UIUC" in text
    mtime = (work / "2" / "cascade.xml").stat().st_mtime_ns
    build_models.train_models(recipe, tmp_path, tmp_path, work, resume=True)
    assert (work / "2" / "cascade.xml").stat().st_mtime_ns == mtime

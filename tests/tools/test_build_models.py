"""The card of a model: it tells of the run that made it, step after step."""

from dataclasses import replace

import build_models
from easy_pictures import easy_positive, save, soft_noise

from vjcascade import Preset, preset_settings, train


def test_a_card_tells_of_all_steps_and_of_the_stages_kept(rng, tmp_path):
    save(tmp_path / "crops", [easy_positive(rng) for _ in range(60)])
    save(tmp_path / "photos", [soft_noise(rng) for _ in range(8)])
    settings = replace(
        preset_settings(Preset.QUICK), max_stages=1, baseline=False, copies=0, max_samples=200, max_depth=2
    )
    sources = (tmp_path / "crops", tmp_path / "photos")
    train(*sources, tmp_path / "easy-1", settings)
    first = tmp_path / "easy-1" / "cascade.xml"
    more = replace(settings, max_stages=2, target_false_alarm_rate=1e-9)
    cascade = train(*sources, tmp_path / "easy", more, continue_from=first)
    recipe = replace(build_models.RECIPES["car"], n_stages=1)
    text = build_models.card("easy", recipe, cascade.first_stages(1), tmp_path / "easy", "No scenes.")
    assert "Window 24x24, 1 stages" in text
    assert "its first 1 stages" in text
    assert text.count("\n| 1 |") == 1
    assert "60 cars of the UIUC" in text

"""Spoiled files that load, run with numba's bounds checks on: no kernel reads outside its arrays.

A process of its own, because the checks are chosen when kernels are compiled. Vector code knows no checks: there, the
offsets that it reads at are looked at. 300 files, the same in every run; VJCASCADE_THOROUGH=1 takes 10,000.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

N_MUTANTS = 10_000 if "VJCASCADE_THOROUGH" in os.environ else 300


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="numba is switched off")
def test_no_read_out_of_range(tmp_path):
    environment = {
        **os.environ,
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-W", "error", __file__, str(N_MUTANTS)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) > N_MUTANTS / 20


def main(n_mutants):
    """Run every spoiled file that loads; print how many these are."""
    from model_files import mutants

    from vjcascade.detection import Scanner, evaluate_windows
    from vjcascade.detection.compiled import CompiledModel
    from vjcascade.detection.scanner import PADDING
    from vjcascade.errors import ModelError
    from vjcascade.formats.cascade_files import parse_cascade

    rng, n_run = np.random.default_rng(5), 0
    for _, data in mutants(n_mutants):
        try:
            cascade = parse_cascade(data, "spoiled")
        except ModelError:
            continue
        n_run += 1
        width, height = cascade.window
        evaluate_windows(cascade, rng.integers(0, 256, (2, height, width), np.uint8), n_threads=1)
        scanner = Scanner(cascade)
        integrals = scanner.integrals(rng.integers(0, 256, (height + 1, width + 9), np.uint8), 2)
        norm_rect, model = CompiledModel(cascade).for_layout(integrals.layout)
        last_window = integrals.layout.stride + 4  # of five in the second row
        for offsets in (norm_rect, model[0]):
            assert last_window + int(offsets.max(initial=0)) < len(integrals.planes) - PADDING
    sys.stdout.write(f"{n_run}\n")


if __name__ == "__main__":
    main(int(sys.argv[1]))

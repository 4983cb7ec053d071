"""The one decorator of all kernels."""

from vjcascade.kernels import _compile


def test_kernels_compile_where_no_cache_can_be_written(monkeypatch):
    asked = []

    def njit(*, cache=False, **options):
        asked.append((cache, options))
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return lambda function: function

    monkeypatch.setattr(_compile, "njit", njit)
    assert _compile.kernel(abs) is abs
    options = {"nogil": True, "fastmath": False, "error_model": "numpy"}
    assert asked == [(cache, options) for cache in (True, False)]

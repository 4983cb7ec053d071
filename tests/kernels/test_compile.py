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
    assert asked == [(cache, {"nogil": True, "fastmath": False}) for cache in (True, False)]

"""Archives for tests."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping


def tar_of(files: Mapping[str, bytes]) -> bytes:
    """Return a tar with these members."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()

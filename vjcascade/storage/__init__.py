"""Pictures outside of folders: in archives, in sets of shards, and at URLs that fsspec supports."""

from vjcascade.storage.addresses import is_url, spelled
from vjcascade.storage.ahead import fetch_ahead
from vjcascade.storage.places import Place, is_place, local_file, open_place
from vjcascade.storage.stored import File, StoredFile

__all__ = [
    "File",
    "Place",
    "StoredFile",
    "fetch_ahead",
    "is_place",
    "is_url",
    "local_file",
    "open_place",
    "spelled",
]

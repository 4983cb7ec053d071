"""Where pictures lie, if not in folders: archives, sets of shards, and addresses that fsspec knows."""

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

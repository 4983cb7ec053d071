"""Picture files as bytes, for tests (`import picture_files`)."""

import io
import struct
import zlib

import tifffile


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(values, colour_type, size=None):
    """Encode what Pillow cannot: PNG of 16 bits a sample, or with a header that claims another `size`."""
    header = struct.pack(">IIBBBBB", *(size or values.shape[1::-1]), 16, colour_type, 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in values.astype(">u2"))
    chunks = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def tiff(values, **options):
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, values, **options)
    return buffer.getvalue()


def netpbm(kind, values, maximum=65535):
    height, width = values.shape[:2]
    return f"{kind} {width} {height} {maximum}\n".encode() + values.astype(">u2").tobytes()


def pillow(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def stored(folder, data, name="picture.dat"):
    path = folder / name
    path.write_bytes(data)
    return path

"""The photo that Bruno sends: a picture drawn here, pixel by pixel, since the demo brings no files with it."""

from __future__ import annotations

import struct
import zlib

WIDTH, HEIGHT = 480, 360  # Pixels: small, and large enough to see what it shows.
WALL, BENCH, BOTTLE, SHINE, LABEL, INK = range(6)
PALETTE = ((214, 221, 219), (143, 120, 96), (38, 92, 168), (96, 148, 214), (246, 246, 240), (60, 66, 70))

# A blue bottle with its label on a bench: left, top, right, bottom and colour; the later ones lie over the earlier.
SHAPES = (
    (0, 0, WIDTH, HEIGHT, WALL),
    (0, 270, WIDTH, HEIGHT, BENCH),
    (214, 50, 266, 74, INK),
    (220, 74, 260, 120, BOTTLE),
    (180, 120, 300, 300, BOTTLE),
    (190, 130, 202, 290, SHINE),
    (180, 170, 300, 250, LABEL),
    (196, 186, 268, 194, INK),
    (196, 206, 284, 212, INK),
    (196, 222, 250, 228, INK),
)


def picture() -> bytes:
    """A PNG with a palette (ISO/IEC 15948): one byte for each pixel, no filter."""
    rows = [bytearray(WIDTH) for _ in range(HEIGHT)]
    for left, top, right, bottom, colour in SHAPES:
        for row in rows[top:bottom]:
            row[left:right] = bytes([colour]) * (right - left)
    header = struct.pack(">IIBBBBB", WIDTH, HEIGHT, 8, 3, 0, 0, 0)
    colours = bytes(part for colour in PALETTE for part in colour)
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows))
    chunks = ((b"IHDR", header), (b"PLTE", colours), (b"IDAT", pixels), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(name, body) for name, body in chunks)


def chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

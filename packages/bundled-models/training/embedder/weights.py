"""Writes the weights file. The card of the model gives the layout in words; `src/embedding/weights.ts` reads it."""
import struct

import numpy as np

from vocabulary import BUCKETS

MAGIC, VERSION = b'QUIREEMB', 1
HEADER = struct.Struct('<8sIIIIII')
LEVELS = 7          # a value is one of -7..7 times the scale of its row


def quantise(table):
    """4-bit rows: (scales float32, integers -7..7). Each row uses the scale with the smallest error of 24
    candidates.
    """
    largest = np.abs(table).max(1, keepdims=True) + 1e-12
    best, error = None, np.full(len(table), np.inf)
    for part in np.linspace(0.35, 1, 24):
        scale = (largest * part / LEVELS).astype(np.float32)
        whole = np.clip(np.rint(table / scale), -LEVELS, LEVELS)
        wrong = ((whole * scale - table) ** 2).sum(1)
        if best is None:
            best = scale.copy(), whole.copy()
        better = wrong < error
        error[better], best[0][better], best[1][better] = wrong[better], scale[better], whole[better]
    return best[0][:, 0], best[1].astype(np.int8)


def write(path, pieces, table, tells_apart, output):
    """`table`: learned vectors (rows, width); `tells_apart`: float32 weight of each row's identity direction."""
    scales, whole = quantise(table)
    nibbles = (whole + 8).astype(np.uint8)
    text = '\n'.join(pieces).encode('ascii')
    with open(path, 'wb') as file:
        file.write(HEADER.pack(MAGIC, VERSION, len(pieces), BUCKETS, table.shape[1], output, len(text)))
        file.write(scales.astype('<f4').tobytes())
        file.write(tells_apart.astype('<f4').tobytes())
        file.write((nibbles[:, 0::2] | (nibbles[:, 1::2] << 4)).tobytes())
        file.write(text)

"""The weights' file: written here, and read back as the service reads it. The card of the model gives the layout in words."""
import struct

import numpy as np

import identity
from tokenizer import BUCKETS, Tokenizer

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


class Embedder:
    """Reads the file and embeds texts with the very arithmetic that the card prescribes: doubles, in a fixed order."""

    def __init__(self, path):
        with open(path, 'rb') as file:
            raw = file.read()
        magic, version, count, buckets, width, self.output, size = HEADER.unpack_from(raw)
        if magic != MAGIC or version != VERSION or buckets != BUCKETS:
            raise ValueError('not an embedder of this version')
        rows, at = count + buckets, HEADER.size
        self.scales = np.frombuffer(raw, '<f4', rows, at)
        self.tells_apart = np.frombuffer(raw, '<f4', rows, at + 4 * rows)
        packed = np.frombuffer(raw, np.uint8, rows * width // 2, at + 8 * rows).reshape(rows, width // 2)
        self.whole = np.empty((rows, width), np.int8)
        self.whole[:, 0::2], self.whole[:, 1::2] = (packed & 15).astype(np.int8) - 8, (packed >> 4).astype(np.int8) - 8
        text = raw[at + 8 * rows + rows * width // 2:]
        if len(text) != size:
            raise ValueError('the file is cut short')
        self.tokenizer, self.width = Tokenizer(text.decode('ascii').split('\n')), width
        self.positions, self.signs = identity.places(rows, self.output - width)

    def table(self):
        """The learned vectors, float32 (rows, width)."""
        return self.whole * self.scales[:, None]

    def full_table(self):
        """The vectors with their identity halves, float32 (rows, output)."""
        rest = identity.directions(len(self.scales), self.output - self.width)
        return np.hstack([self.table(), rest * (self.tells_apart * np.float32(np.sqrt(identity.ENTRIES)))[:, None]])

    def embed(self, text):
        """float32 (output,), of length 1."""
        rows, counts = np.unique(np.asarray(self.tokenizer.rows_of(text)), return_counts=True)
        total = np.zeros(self.output, np.float64)
        for row, count in zip(rows, counts):
            damped = np.sqrt(np.float64(count))
            total[:self.width] += (damped * np.float64(self.scales[row])) * self.whole[row]
            share = damped * np.float64(self.tells_apart[row])
            for position, sign in zip(self.positions[row], self.signs[row]):
                total[self.width + position] += sign * share
        # accumulate() adds strictly from left to right, as a loop does.
        length = np.sqrt(np.add.accumulate(total * total)[-1])
        return (total / length).astype(np.float32)


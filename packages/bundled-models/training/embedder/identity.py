"""Directions that only tell rows apart: nothing stored, made by a hash of the row's number, the same in every language.

They fill the part of the output that is not learned, so that two texts which share a rare word are near even if training never saw it.
"""
import numpy as np

ENTRIES = 8


def mix32(x):
    """A 32-bit integer hash (two rounds of xor-shift and multiply), on uint32 arrays."""
    x = np.asarray(x, np.uint32)
    with np.errstate(over='ignore'):
        x = (x ^ (x >> np.uint32(16))) * np.uint32(0x7FEB352D)
        x = (x ^ (x >> np.uint32(15))) * np.uint32(0x846CA68B)
    return x ^ (x >> np.uint32(16))


def places(rows, width):
    """(positions, signs) of the ENTRIES entries of each row: int64 and float32, both (rows, ENTRIES). Positions may repeat: entries add."""
    hashes = mix32(np.arange(rows * ENTRIES, dtype=np.uint32) + np.uint32(1)).reshape(rows, ENTRIES)
    return (hashes % np.uint32(width)).astype(np.int64), np.where(hashes >> np.uint32(31), -1, 1).astype(np.float32)


def directions(rows, width):
    """Dense (rows, width) float32, each row of length about 1."""
    positions, signs = places(rows, width)
    table = np.zeros((rows, width), np.float32)
    np.add.at(table, (np.arange(rows)[:, None], positions), signs / np.float32(np.sqrt(ENTRIES)))
    return table

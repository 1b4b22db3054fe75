"""The reranker's file: narrow vectors and idf of the embedder's rows, and the scorer. The card gives the layout in words."""
import struct

import numpy as np

from features import NAMES
from scorer import HIDDEN, Scorer

MAGIC, VERSION = b'QUIRERNK', 1
HEADER = struct.Struct('<8sIIIII')
IDF_STEP = 1 / 16
LEVELS = 7


def write(path, units, idf, scorer):
    """`units` (rows, narrow) of unit length, 4 bits a number with one scale for all a row; `idf` (rows,) in steps of 1/16."""
    scales = np.abs(units).max(1) * 0.8 / LEVELS
    whole = np.clip(np.rint(units / scales[:, None]), -LEVELS, LEVELS).astype(np.int8)
    nibbles = (whole + 8).astype(np.uint8)
    with open(path, 'wb') as file:
        file.write(HEADER.pack(MAGIC, VERSION, len(units), units.shape[1], len(NAMES), HIDDEN))
        file.write(np.rint(idf / IDF_STEP).clip(1, 255).astype(np.uint8).tobytes())
        file.write((nibbles[:, 0::2] | (nibbles[:, 1::2] << 4)).tobytes())
        for part in numbers(scorer):
            file.write(np.asarray(part, '<f8').tobytes())


def numbers(scorer):
    """What the scorer computes with, in the order of the file; all zero before it is fitted."""
    if scorer is None:
        size = len(NAMES)
        return [np.zeros(n) for n in (size, size, size * HIDDEN, HIDDEN, HIDDEN, size, 2)]
    return [scorer.mean, scorer.spread, *(p.ravel() for p in scorer.parts), [scorer.slope, scorer.offset]]


def read(path):
    """(units float32 of unit length, idf float32, Scorer)."""
    with open(path, 'rb') as file:
        raw = file.read()
    magic, version, rows, narrow, size, hidden = HEADER.unpack_from(raw)
    if magic != MAGIC or version != VERSION:
        raise ValueError('not a reranker of this version')
    at = HEADER.size
    idf = np.frombuffer(raw, np.uint8, rows, at).astype(np.float32) * np.float32(IDF_STEP)
    packed = np.frombuffer(raw, np.uint8, rows * narrow // 2, at + rows).reshape(rows, narrow // 2)
    units = np.empty((rows, narrow), np.float32)
    units[:, 0::2], units[:, 1::2] = (packed & 15).astype(np.float32) - 8, (packed >> 4).astype(np.float32) - 8
    units /= np.linalg.norm(units, axis=1, keepdims=True)
    rest = np.frombuffer(raw[at + rows + rows * narrow // 2:], '<f8')
    ends = np.cumsum([size, size, size * hidden, hidden, hidden, size, 2])
    mean, spread, first, bias, out, direct, line = np.split(rest, ends[:-1])
    scorer = Scorer(mean, spread, [first.reshape(size, hidden), bias, out, direct])
    scorer.slope, scorer.offset = line
    return units, idf, scorer

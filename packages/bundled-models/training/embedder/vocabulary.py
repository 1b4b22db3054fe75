"""The pieces of the vocabulary: the teacher's English ones, and whole words that are frequent in the training text."""
import json
import os
import struct

import numpy as np

import runtime

# Hashed rows behind the pieces.
BUCKETS = 8192
# A word is added when the teacher splits it and this many training texts contain it.
FEWEST_TEXTS, MOST_WORDS = 12, 6000


def read_teacher(folder):
    """potion-base-2M: (pieces, float32 vectors). Its README gives the layout."""
    with open(f'{folder}/potion-base-2M.bin', 'rb') as file:
        raw = file.read()
    assert raw[:4] == b'GGE1'
    count, width = struct.unpack('<II', raw[4:12])
    scales = np.frombuffer(raw, '<f4', count, 12)
    vectors = np.frombuffer(raw, np.int8, count * width, 12 + 4 * count).reshape(count, width)
    pieces, at = [], 12 + 4 * count + count * width
    for _ in range(count):
        size = int.from_bytes(raw[at:at + 2], 'little')
        pieces.append(raw[at + 2:at + 2 + size].decode())
        at += 2 + size
    return pieces, vectors * scales[:, None]


def make(teacher_folder, texts, out):
    """(pieces, their teacher vectors). An added word starts from the mean of the pieces that it replaces."""
    pieces, vectors = read_teacher(teacher_folder)
    keep = [i for i, p in enumerate(pieces) if p.removeprefix('##').isascii() and p.removeprefix('##').isalnum()]
    pieces, vectors = [pieces[i] for i in keep], vectors[keep]
    known, counts = set(pieces), count_words(texts, out)
    added = [w for w, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
             if n >= FEWEST_TEXTS and 2 < len(w) < 25 and w.isascii() and w.isalpha() and w not in known][:MOST_WORDS]
    # The last row of a word of several pieces is its hashed one.
    starts = [vectors[rows[rows < len(pieces)]].mean(0) for rows in encode(added, pieces, out)]
    return pieces + added, np.vstack([vectors, starts]).astype(np.float32)


def count_words(texts, out):
    """{word: number of texts that contain it}"""
    path = os.path.join(out, 'count.txt')
    runtime.write_texts(texts, path)
    runtime.node('embedder/reader.ts', 'count', path)
    with open(f'{path}.counts') as file:
        return json.load(file)


def encode(texts, pieces, out):
    """The rows of each text: rows 0..len(pieces)-1 are the pieces, the BUCKETS rows behind them are the hashed ones."""
    path = os.path.join(out, 'pieces.json')
    with open(path, 'w') as file:
        json.dump(pieces, file)
    rows, ends = runtime.embedder('encode', texts, {'rows': np.int32, 'ends': np.int32}, path, BUCKETS)
    return np.split(rows.astype(np.uint16), ends[:-1])

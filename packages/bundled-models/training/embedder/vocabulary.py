"""The pieces of the vocabulary: the teacher's English ones, and whole words that are frequent in the training text."""
import collections
import struct

import numpy as np

from tokenizer import Tokenizer

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


def make(teacher_folder, texts):
    """(Tokenizer, teacher vectors of its pieces). An added word starts from the mean of the pieces that it replaces."""
    pieces, vectors = read_teacher(teacher_folder)
    keep = [i for i, p in enumerate(pieces) if p.removeprefix('##').isascii() and p.removeprefix('##').isalnum()]
    pieces, vectors = [pieces[i] for i in keep], vectors[keep]
    first = Tokenizer(pieces)
    counts = collections.Counter()
    for text in texts:
        counts.update({w for w in first.words(text) if 2 < len(w) < 25 and w.isascii() and w.isalpha()})
    added = [w for w, n in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
             if n >= FEWEST_TEXTS and w not in first.index][:MOST_WORDS]
    starts = [vectors[first.wordpieces(w)].mean(0) for w in added]
    return Tokenizer(pieces + added), np.vstack([vectors, starts]).astype(np.float32)

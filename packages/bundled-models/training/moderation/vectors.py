"""First word vectors: the static embedder potion-base-2M, and spelling buckets that imitate it."""
import os
import struct

import numpy as np

WIDTH = 64


def read_vectors(data):
    """{word piece: 64 floats} of the teacher, scaled to a mean square of about 0.1 a number."""
    with open(os.path.join(data, 'teachers/potion-base-2m-int8/potion-base-2M.bin'), 'rb') as file:
        raw = file.read()
    count, width = struct.unpack_from('<II', raw, 4)
    scales = np.frombuffer(raw, np.float32, count, 12)
    rows = np.frombuffer(raw, np.int8, count * width, 12 + 4 * count).reshape(count, width) * scales[:, None]
    rows = rows * np.float32(0.3 / np.sqrt(np.mean(rows ** 2)))
    pieces, at = {}, 12 + 4 * count + count * width
    for row in rows:
        length, = struct.unpack_from('<H', raw, at)
        pieces[raw[at + 2:at + 2 + length].decode()] = row
        at += 2 + length
    return pieces


def compose(word, pieces):
    """The mean vector of the longest pieces of `word`; None when they do not cover it."""
    found, at = [], 0
    while at < len(word):
        for end in range(len(word), at, -1):
            piece = ('##' if at else '') + word[at:end]
            if piece in pieces:
                found.append(pieces[piece])
                at = end
                break
        else:
            return None
    return np.mean(found, 0)


def first_words(words, pieces, seed, masked):
    """One row per word of the vocabulary: the teacher's vector, or noise without one. `masked` maps masked words
    to their originals. Row 0, the padding, is zero.
    """
    chance = np.random.default_rng(seed)
    table = chance.normal(0, 0.1, (len(words), WIDTH)).astype(np.float32)
    for number, word in enumerate(words):
        word = masked.get(word, word)
        row = pieces.get(word)
        if row is None and word.replace("'", '').isalpha():
            row = compose(word.replace("'", ''), pieces)
        if row is not None:
            table[number] = row
    table[0] = 0
    return table


def first_buckets(words, table, encoded, buckets, seed):
    """Bucket rows whose mean over a word's spelling is near the word's row, by stochastic descent on the squared error."""
    chance = np.random.default_rng(seed)
    rows = np.zeros((buckets, WIDTH), np.float32)
    spelling = np.concatenate([[0], encoded['spelling']])
    known = [i for i in range(8, len(words)) if spelling[i + 1] > spelling[i] + 5]
    for epoch in range(8):
        chance.shuffle(known)
        rate = 1.5 * (1 - epoch / 9)
        for i in known:
            own = encoded['buckets'][spelling[i]:spelling[i + 1]]
            error = table[i] - rows[own].mean(0)
            rows[own] += rate * error / 4
    return rows

"""The training pairs as rows of the token table, read once and kept in the scratch folder."""
import gc
import os
import pickle
import random

import numpy as np

import sources
import vocabulary
from train import BLOCK

# Maximum characters of a text, and pairs of the largest sources: a budget of one hour on one core.
LONGEST = 1100
MOST_PAIRS = {'wordnet_lemmas': 40000, 'wordnet_examples': 25000, 'tldr': 24000, 'jaquad': 12000, 'oss_docs': 26000,
              'neighbours': 32000}
VOCABULARY_TEXTS = 60000
SPANS_OF = ('medquad', 'oss_docs', 'opensearch_docs', 'reading', 'neighbours', 'squad')
SPAN_ROWS, SPAN_TEXT_ROWS, LEAST_SPAN_TEXT_ROWS, WHOLE_TEXTS = (8, 32), 260, 40, 0.2


class Corpus:
    """`pairs`: {name: (rows of each a, index of its b, rows of each b)}; `seen`: number of texts with each row."""

    def __init__(self, pieces, teacher, pairs, seen):
        self.pieces, self.teacher, self.pairs, self.seen = pieces, teacher, pairs, seen
        self.rows = len(pieces) + vocabulary.BUCKETS


def load(data, out):
    """The corpus of the data folder, or the one that an earlier run stored in `out`."""
    cached = os.path.join(out, 'corpus.pickle')
    if not os.path.exists(cached):
        # Garbage collection would traverse millions of live strings.
        gc.disable()
        with open(cached + '.part', 'wb') as file:
            pickle.dump(encode(data, out), file)
        os.rename(cached + '.part', cached)
        gc.enable()
    with open(cached, 'rb') as file:
        return Corpus(*pickle.load(file))


def encode(data, out):
    pairs = sources.all_pairs(data)
    for name, most in MOST_PAIRS.items():
        pairs[name] = some_blocks(pairs[name], most)
    pieces, teacher = vocabulary.make(f'{data}/teachers/potion-base-2m-int8', texts_of(pairs), out)
    encoded, seen = {}, np.zeros(len(pieces) + vocabulary.BUCKETS)
    for name, rows in pairs.items():
        encoded[name] = left, which, right = encode_source(rows, pieces, out)
        for text in right:
            seen[np.unique(text)] += 1
    return pieces, teacher, encoded, seen


def some_blocks(rows, most):
    """Limits the number of pairs, in whole blocks of neighbours."""
    if len(rows) <= most:
        return rows
    blocks = [rows[i:i + BLOCK] for i in range(0, len(rows), BLOCK)]
    random.Random(0).shuffle(blocks)
    return sum(blocks[:most // BLOCK], [])


def texts_of(pairs):
    """Texts in which the vocabulary is counted."""
    texts = [b[:LONGEST] for name, rows in pairs.items() if name not in ('neighbours', 'jaquad') for _, b in rows]
    texts += [a for name, rows in pairs.items() if name != 'neighbours' for a, _ in rows]
    random.Random(0).shuffle(texts)
    return texts[:VOCABULARY_TEXTS]


def encode_source(rows, pieces, out):
    places = {b: i for i, b in enumerate(dict.fromkeys(b for _, b in rows))}
    left, right = (vocabulary.encode([text[:LONGEST] for text in texts], pieces, out) for texts in ([a for a, _ in rows], places))
    return left, np.array([places[b] for _, b in rows]), right


def spans(pairs, seed):
    """Some words of a text, and the text mostly without them: as (a, index of b, b) over encoded texts."""
    draw, left, right = np.random.default_rng(seed), [], []
    for name in SPANS_OF:
        for text in pairs[name][2]:
            text = text[:SPAN_TEXT_ROWS]
            if len(text) < LEAST_SPAN_TEXT_ROWS:
                continue
            size = int(draw.integers(*SPAN_ROWS))
            at = int(draw.integers(0, len(text) - size))
            left.append(text[at:at + size])
            right.append(text if draw.random() < WHOLE_TEXTS else np.concatenate([text[:at], text[at + size:]]))
    return left, np.arange(len(left)), right

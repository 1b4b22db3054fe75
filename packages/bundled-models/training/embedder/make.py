"""Makes the embedder: corpus, training, weights. Run again after an interruption to continue from the last checkpoint.

    python3 make.py DATA OUT [--steps 600]
"""
import argparse
import os
import sys

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))

import corpus  # noqa: E402
import weights  # noqa: E402
from model import OUTPUT, WIDTH, initial_table  # noqa: E402
from train import Pairs, train  # noqa: E402

STEPS, RATE, SEED = 600, 0.012, 0
# Sampling weights of the sources: by size and by similarity to real queries.
SHARES = {'wordnet_lemmas': 0.8, 'wordnet_examples': 0.6, 'tldr': 1, 'jaquad': 0.25, 'oss_docs': 1.5, 'opensearch_docs': 1,
          'medquad': 0.8, 'squad': 1.5, 'reading': 0.8, 'paraphrases': 0.4, 'answers': 0.8, 'python': 1.2, 'neighbours': 3, 'spans': 4}
# Width of the hashed half of the output; chosen on the chunking questions and trecqa.
IDENTITY = 1.0
# Nonzero components of the hashed direction of a row (`src/embedding/embedder.ts`).
ENTRIES = 8
UNKNOWN_WEIGHT_QUANTILE = 0.7


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('data')
    parser.add_argument('out')
    parser.add_argument('--steps', type=int, default=STEPS)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    read = corpus.load(args.data, args.out)
    table = trained(read, args.out, args.steps)
    path = os.path.join(args.out, 'quire-embed-1.bin')
    weights.write(path, read.pieces, table, identity_weights(table), OUTPUT)
    print(f'{path}: {os.path.getsize(path):,} bytes')


def start_table(read):
    """Known tokens are weighted by the length of the teacher's vectors, unknown ones like its rarer tokens."""
    lengths = np.linalg.norm(read.teacher, axis=1)
    lengths /= np.median(lengths)
    weigh = np.full(read.rows, np.quantile(lengths, UNKNOWN_WEIGHT_QUANTILE))
    weigh[:len(lengths)] = lengths
    return initial_table(read.teacher, weigh, SEED, WIDTH)


def trained(read, out, steps):
    rows = read.rows
    pairs = {name: Pairs(a, which, b, rows) for name, (a, which, b) in read.pairs.items()}
    pairs['spans'] = Pairs(*corpus.spans(read.pairs, SEED), rows)

    def report(step, losses, scale, seconds):
        print(step, f'{seconds:.0f}s scale {scale:.1f}', ' '.join(f'{n} {x:.2f}' for n, x in losses.items()), flush=True)

    return train(start_table(read), pairs, SHARES, steps, RATE, seed=SEED, report=report, checkpoint=f'{out}/checkpoint.npz')


def identity_weights(table):
    return (IDENTITY * np.linalg.norm(table, axis=1) / np.sqrt(ENTRIES)).astype(np.float32)


if __name__ == '__main__':
    main()

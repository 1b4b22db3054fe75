"""Makes the reranker from the embedder's file: training lists, features, scorer, calibration, weights.

    python3 make.py DATA OUT quire-embed-1.bin

OUT is the folder that embedder/make.py left its corpus in.
"""
import argparse
import os
import pickle
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'embedder'))

import corpus  # noqa: E402  (the embedder's folder is not a package)
import lists  # noqa: E402
import scorer  # noqa: E402
import weights as embedder_weights  # noqa: E402
import weights_rerank  # noqa: E402
from features import NAMES, Reader, unit_rows  # noqa: E402
from train import Pairs  # noqa: E402

NARROW = 128
# One list in so many is kept from the fit, to choose its settings and to calibrate on.
CHECK_EVERY = 5


def narrow_units(table):
    """Unit vectors of NARROW numbers that keep the cosines between rows: principal directions of the unit rows."""
    units = unit_rows(table)
    _, vectors = np.linalg.eigh(units.T @ units)
    return unit_rows(units @ vectors[:, ::-1][:, :NARROW])


def training_lists(read, reader, out):
    """{source: (lists, 1 + WRONG, features)}, from OUT where a run before left them."""
    cached = os.path.join(out, 'lists.pickle')
    if os.path.exists(cached):
        with open(cached, 'rb') as file:
            return pickle.load(file)
    rows, found = read.tokenizer.rows, {}
    for name in lists.QUERIES:
        drawn = lists.draw(Pairs(*read.pairs[name], rows), name, reader, rows, seed=1)
        found[name] = np.array([reader.features(q, d) for q, d in drawn if len(d) == lists.WRONG + 1])
        print(name, found[name].shape, flush=True)
    with open(cached, 'wb') as file:
        pickle.dump(found, file)
    return found


def first_right(found):
    """Mean reciprocal rank of the right document over lists of scores."""
    return float((1 / (1 + (found[:, 1:] >= found[:, :1]).sum(1))).mean())


def main():
    parser = argparse.ArgumentParser()
    for name in ('data', 'out', 'embedder'):
        parser.add_argument(name)
    args = parser.parse_args()
    read = corpus.load(args.data, args.out)
    embedder = embedder_weights.Embedder(args.embedder)
    idf = lists.inverse_frequency(read.seen, sum(len(b) for _, _, b in read.pairs.values()))
    path = os.path.join(args.out, 'quire-rerank-1.bin')
    # The file is written twice: the features must be those that its rounded numbers give.
    weights_rerank.write(path, narrow_units(embedder.table()), idf, None)
    units, idf, _ = weights_rerank.read(path)
    reader = Reader(embedder.full_table(), units, idf)
    found = training_lists(read, reader, args.out)
    fit_on = np.concatenate([np.delete(x, np.s_[::CHECK_EVERY], 0) for x in found.values()])
    check_on = np.concatenate([x[::CHECK_EVERY] for x in found.values()])
    made = scorer.fit(fit_on)
    scorer.calibrate(made, check_on)
    weights_rerank.write(path, units, idf, made)
    for name, x in found.items():
        held = x[::CHECK_EVERY]
        print(f'{name:18} MRR of {len(held)} lists: reranked {first_right(made.probability(held)):.3f}, '
              f'cosine {first_right(held[..., NAMES.index("cosine")]):.3f}, lexical {first_right(held[..., 1]):.3f}')
    print(f'{path}: {os.path.getsize(path):,} bytes')


if __name__ == '__main__':
    main()

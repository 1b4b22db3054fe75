"""Measures the reranker's file on the best 100 of the hybrid search: nDCG@10 before and after, and how its scores are calibrated.

    python3 evaluate.py DATA quire-embed-1.bin quire-rerank-1.bin
"""
import argparse
import os
import sys
import time

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'embedder'))

import retrieval  # noqa: E402  (the embedder's folder is not a package)
import weights_rerank  # noqa: E402
from evaluate_embedder import FIVE, Measured, TUNING, chunking, embed_all_of  # noqa: E402
from features import Reader  # noqa: E402
from weights import Embedder  # noqa: E402

CANDIDATES = 100
# Shares of the reranker's score where it is mixed with the hybrid one.
MIXES = (0.3, 0.5, 0.7)
# Others that hybrid search leaves little to improve on.
OTHERS = ('xquad_en', 'pubmedqa_labeled')


class Reranked:
    """Scores of one collection before and after: (queries, documents), what is not a candidate at -1."""

    def __init__(self, measured, reader, scorer, rows_of):
        self.measured, self.hybrid = measured, measured.hybrid()
        collection = measured.collection
        documents = [np.array(rows_of(d)) for d in collection.documents]
        self.reranked = np.full(self.hybrid.shape, -1.0)
        for row, query in enumerate(collection.queries):
            best = retrieval.top(self.hybrid[row], CANDIDATES)
            found = reader.features(np.array(rows_of(query)), [documents[i] for i in best])
            self.reranked[row, best] = scorer.probability(found)

    def mixed(self, share):
        return np.where(self.reranked < 0, -1, share * self.reranked + (1 - share) * self.hybrid)

    def ndcgs(self, scores):
        return self.measured.ndcgs(scores)[0]


def report(name, one):
    keyword, hybrid, after = (one.ndcgs(s) for s in (one.measured.keyword, one.hybrid, one.reranked))
    mixes = [one.ndcgs(one.mixed(s)) for s in MIXES]
    print(f'{name:22} {keyword.mean():.3f} {hybrid.mean():.3f} {after.mean():.3f}', *(f'{m.mean():.3f}' for m in mixes),
          f'p of reranked, of the middle mix, against hybrid: {retrieval.bootstrap(after, hybrid):.3f}'
          f' {retrieval.bootstrap(mixes[1], hybrid):.3f}', flush=True)
    return [x.mean() for x in (keyword, hybrid, after, *mixes)]


def calibration(name, one):
    """Share of relevant documents among candidates by score: what a threshold keeps."""
    gains = [[int(d) in g for d in np.flatnonzero(r >= 0)] for r, g in zip(one.reranked, one.measured.collection.gains)]
    right, scores = np.concatenate(gains), np.concatenate([r[r >= 0] for r in one.reranked])
    parts = []
    for low in (0, 0.1, 0.3, 0.5, 0.7, 0.9):
        high = {0: 0.1, 0.1: 0.3, 0.3: 0.5, 0.5: 0.7, 0.7: 0.9, 0.9: 1.01}[low]
        inside = (scores >= low) & (scores < high)
        parts.append(f'{low}-{min(1, high)}: {right[inside].mean() if inside.any() else float("nan"):.2f} of {inside.sum()}')
    print(f'{name} relevant by score:', ', '.join(parts))


def main():
    parser = argparse.ArgumentParser()
    for name in ('data', 'embedder', 'reranker'):
        parser.add_argument(name)
    args = parser.parse_args()
    embedder = Embedder(args.embedder)
    units, idf, scorer = weights_rerank.read(args.reranker)
    reader, embed_all, means = Reader(embedder.full_table(), units, idf), embed_all_of(embedder), []
    print(f"{'nDCG@10':22} BM25  hybrid reranked, mixed {MIXES}")
    for name in TUNING + FIVE + OTHERS:
        collection = chunking(args.data) if name == 'chunking' else retrieval.load(args.data, name)
        began = time.time()
        one = Reranked(Measured(collection, embed_all), reader, scorer, embedder.tokenizer.rows_of)
        line = report(name, one)
        means += [line] if name in FIVE else []
        if name in ('chunking', 'xquad_en', 'glasgow_cacm'):
            calibration(name, one)
        print(f'  ({time.time() - began:.0f} s)', flush=True)
    print('mean of the five:', ' '.join(f'{x:.4f}' for x in np.mean(means, 0)))


if __name__ == '__main__':
    main()

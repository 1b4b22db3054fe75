"""Measures the weights' file: nDCG@10 and Recall@100 of BM25, of the vectors, and of both, and Spearman on sentence pairs.

    python3 evaluate_embedder.py DATA quire-embed-1.bin
"""
import argparse
import gzip
import time

import numpy as np

import retrieval
from bm25 import BM25
from model import count_matrix, normalised
from weights import Embedder

FIVE = ('glasgow_cisi', 'glasgow_cacm', 'glasgow_lisa', 'glasgow_adi', 'cosqa_dev_code')
# Collections on which the fusion weights were tuned; chunking: the questions of the chunking set over chunks of 1,000
# characters.
TUNING = ('chunking', 'trecqa_wang_devtest')
OTHERS = ('pubmedqa_labeled', 'jaquad_dev_ja', 'xquad_en', 'xquad_de', 'xquad_es', 'xquad_ro', 'xquad_vi', 'xquad_tr',
          'xquad_ru', 'xquad_el', 'xquad_ar', 'xquad_hi', 'xquad_th', 'xquad_zh')
# hybrid = SHARE * max(0, cosine) + (1 - SHARE) * s / (s + HALF), s the BM25 score
SHARES, HALVES = (0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5), (10, 20, 30, 40)
SHARE, HALF = 0.2, 30
PIECE, LEAST_OVERLAP = 1000, 20
PARAPHRASE_EVERY = 5


def chunking(data):
    """The chunking questions as a collection: relevant chunks overlap with a gold span."""
    questions = retrieval.json_rows(f'{data}/chunking/questions.jsonl.gz')
    documents, spans = [], []
    for name in sorted({q['corpus_id'] for q in questions}):
        with gzip.open(f'{data}/chunking/raw/corpora/{name}.md.gz', 'rt', encoding='utf-8') as file:
            text = file.read()
        for at in range(0, len(text), PIECE):
            documents.append(text[at:at + PIECE])
            spans.append((name, at, at + PIECE))
    asked, gains = [], []
    for question in questions:
        right = {i: 1 for i, span in enumerate(spans) if holds(span, question)}
        if right:
            asked.append(question['question'])
            gains.append(right)
    return retrieval.Collection('chunking', documents, asked, gains)


def holds(span, question):
    name, start, end = span
    return name == question['corpus_id'] and any(
        min(end, r['end_index']) - max(start, r['start_index']) > LEAST_OVERLAP for r in question['references'])


def paraphrased(data):
    """Banking77 as a collection: a question is a query for its paraphrases."""
    rows = retrieval.json_rows(f'{data}/chat/banking77_intents.jsonl.gz')
    kept, asked = [r for r in rows if r['split'] == 'train'], [r for r in rows if r['split'] == 'test'][::PARAPHRASE_EVERY]
    of_intent = {}
    for i, row in enumerate(kept):
        of_intent.setdefault(row['intent'], {})[i] = 1
    return retrieval.Collection('banking77', [r['text'] for r in kept], [r['text'] for r in asked],
                                [of_intent[r['intent']] for r in asked])


class Measured:
    """A collection with its BM25 scores and cosines, (queries, documents) each."""

    def __init__(self, collection, embed_all):
        self.collection = collection
        index = BM25(collection.documents)
        self.keyword = np.array([index.scores(q) for q in collection.queries])
        self.cosine = embed_all(collection.queries) @ embed_all(collection.documents).T

    def hybrid(self, share=SHARE, half=HALF):
        return share * np.maximum(0, self.cosine) + (1 - share) * self.keyword / (self.keyword + half)

    def reciprocal_ranks(self, constant=60):
        def ranks(scores):
            return np.argsort(np.argsort(-scores, 1, kind='stable'), 1, kind='stable')
        return 1 / (constant + 1 + ranks(self.cosine)) + 1 / (constant + 1 + ranks(self.keyword))

    def ndcgs(self, scores):
        return retrieval.measure(self.collection, scores)


def embed_all_of(embedder):
    """Fast embedding of many texts: float32 matrices instead of the prescribed order of operations; equal to 1e-6."""
    rows, table = len(embedder.scales), embedder.full_table()

    def embed_all(texts):
        return normalised(count_matrix([embedder.tokenizer.rows_of(t) for t in texts], rows) @ table)[0]

    return embed_all


def report(measured):
    """One line a collection: BM25, vectors, hybrid, reciprocal ranks; p of hybrid against BM25."""
    print(f"{'nDCG@10 (Recall@100)':22} {'BM25':>13} {'vectors':>13} {'hybrid':>13} {'RRF 60':>7} p")
    for name, one in measured.items():
        bm25, vector, hybrid = (one.ndcgs(s) for s in (one.keyword, one.cosine, one.hybrid()))
        ranks = one.ndcgs(one.reciprocal_ranks())[0].mean()
        columns = ' '.join(f'{x[0].mean():.3f} ({x[1].mean():.3f})' for x in (bm25, vector, hybrid))
        print(f'{name:22} {columns} {ranks:7.3f} {retrieval.bootstrap(hybrid[0], bm25[0]):.3f}', flush=True)


def five(measured):
    """Means over the five, the pooled significance, and the fusion chosen for each by the other four."""
    per_query = {way: {n: measured[n].ndcgs(score(measured[n]))[0] for n in FIVE} for way, score in (
        ('BM25', lambda m: m.keyword), ('vectors', lambda m: m.cosine), ('hybrid', lambda m: m.hybrid()),
        ('RRF', lambda m: m.reciprocal_ranks()))}
    means = {way: np.mean([x.mean() for x in found.values()]) for way, found in per_query.items()}
    print('mean of the five:', ', '.join(f'{way} {x:.4f} ({x / means["BM25"] - 1:+.1%})' for way, x in means.items()))
    grid = {(s, h): [measured[n].ndcgs(measured[n].hybrid(s, h))[0].mean() for n in FIVE] for s in SHARES for h in HALVES}
    kept = [max(grid.values(), key=lambda x, out=i: sum(x) - x[out])[i] for i in range(len(FIVE))]
    print(f'hybrid, weights for each set chosen on the other four: {np.mean(kept):.4f}',
          'best in hindsight:', max(grid, key=lambda k: sum(grid[k])), f'{max(map(np.mean, grid.values())):.4f}')


def sentence_pairs(data, embed_all):
    stsb = [r for r in retrieval.json_rows(f'{data}/sts/stsb_en.jsonl.gz') if r['split'] == 'test']
    for name, rows, label in (('stsb_en test', stsb, 'score'), ('sts_sick', retrieval.json_rows(f'{data}/sts/sts_sick.jsonl.gz'), 'score'),
                              ('msrp', retrieval.json_rows(f'{data}/sts/msrp.jsonl.gz'), 'label')):
        near = (embed_all([r['a'] for r in rows]) * embed_all([r['b'] for r in rows])).sum(1)
        print(f'{name}: Spearman {retrieval.spearman(near, [r[label] for r in rows]):.3f} ({len(rows)} pairs)', flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('data')
    parser.add_argument('weights')
    args = parser.parse_args()
    began = time.time()
    embedder = Embedder(args.weights)
    print(f'read in {time.time() - began:.2f} s')
    embed_all = embed_all_of(embedder)
    sentence_pairs(args.data, embed_all)
    measured = {'chunking': Measured(chunking(args.data), embed_all)}
    for name in TUNING[1:] + FIVE:
        measured[name] = Measured(retrieval.load(args.data, name), embed_all)
    report(measured)
    five(measured)
    others = {'banking77': Measured(paraphrased(args.data), embed_all)}
    others.update({name: Measured(retrieval.load(args.data, name), embed_all) for name in OTHERS})
    report(others)


if __name__ == '__main__':
    main()

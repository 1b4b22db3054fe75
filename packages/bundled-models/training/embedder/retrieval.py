"""Test collections, and the measures of a ranking: nDCG@10, Recall@100, paired bootstrap."""
import gzip
import json

import numpy as np

CUT, RECALL_CUT = 10, 100


class Collection:
    """`documents` and `queries` are texts; `gains[q]` maps document rows to their graded relevance."""

    def __init__(self, name, documents, queries, gains):
        self.name, self.documents, self.queries, self.gains = name, documents, queries, gains


def json_rows(path):
    with gzip.open(path, 'rt', encoding='utf-8') as file:
        return [json.loads(line) for line in file]


def load(data, name):
    """One of `retrieval/`, with the queries that have at least one relevant document."""
    folder = f'{data}/retrieval/{name}'
    corpus = json_rows(f'{folder}/corpus.jsonl.gz')
    place = {row['_id']: i for i, row in enumerate(corpus)}
    gains = {}
    with gzip.open(f'{folder}/qrels.tsv.gz', 'rt') as file:
        for line in list(file)[1:]:
            query, document, score = line.split('\t')
            if int(score) > 0 and document in place:
                gains.setdefault(query, {})[place[document]] = int(score)
    queries = [row for row in json_rows(f'{folder}/queries.jsonl.gz') if row['_id'] in gains]
    documents = [f"{row.get('title') or ''}\n{row['text']}".strip() for row in corpus]
    return Collection(name, documents, [row['text'] for row in queries], [gains[row['_id']] for row in queries])


def ndcg(scores, gains):
    """nDCG@10 of one query; ties are broken by document order."""
    best = top(scores, CUT)
    found = sum(gains.get(int(d), 0) / np.log2(rank + 2) for rank, d in enumerate(best))
    ideal = sum(g / np.log2(rank + 2) for rank, g in enumerate(sorted(gains.values(), reverse=True)[:CUT]))
    return found / ideal


def recall(scores, gains):
    return sum(int(d) in gains for d in top(scores, RECALL_CUT)) / len(gains)


def top(scores, count):
    return np.argsort(-scores, kind='stable')[:count]


def measure(collection, score_rows):
    """(nDCG@10 of each query, Recall@100 of each query) for an iterable of score rows, one a query."""
    pairs = [(ndcg(s, g), recall(s, g)) for s, g in zip(score_rows, collection.gains)]
    return np.array(pairs).T


def bootstrap(a, b, rounds=10_000, seed=0):
    """Two-sided p of the paired bootstrap that the mean of a differs from that of b."""
    difference = np.asarray(a) - np.asarray(b)
    picks = np.random.default_rng(seed).integers(0, len(difference), (rounds, len(difference)))
    means = difference[picks].mean(1)
    return min(1.0, 2 * min((means <= 0).mean(), (means >= 0).mean()))


def spearman(a, b):
    """Rank correlation, ties averaged."""
    def ranks(x):
        _, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
        return (np.cumsum(counts) - (counts - 1) / 2)[inverse]
    return float(np.corrcoef(ranks(np.asarray(a)), ranks(np.asarray(b)))[0, 1])

"""What a scorer is worth on OUT/measure.jsonl: the sentence that answers, whether there is one, and nDCG@10 after a search."""
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'embedder'))
from retrieval import CUT, bootstrap  # noqa: E402

SENTENCES = ('squad held back', 'qed')
QUESTIONS = ('chunking', 'trecqa_wang_devtest')
FIVE = ('glasgow_cisi', 'glasgow_cacm', 'glasgow_lisa', 'glasgow_adi', 'cosqa_dev_code')
MIXES = (0.3, 0.5)
DECLINED = 0.9


class Lists:
    """The lists of a file with the features of their documents: `rows[i]` is where list i begins."""

    def __init__(self, out, name):
        self.sources, self.gains, self.hybrid, self.all, ends = [], [], [], [], [0]
        with open(f'{out}/{name}.jsonl', encoding='utf-8') as file:
            for line in file:
                one = json.loads(line)
                self.sources.append(one['source'])
                self.gains.append(np.array(one.get('gains', [1] + [0] * (len(one['documents']) - 1))))
                self.hybrid.append(np.array(one.get('hybrid', [])))
                self.all.append(one.get('all', []))
                ends.append(ends[-1] + len(one['documents']))
        self.ends = np.array(ends)
        self.sources = np.array(self.sources)
        self.features = np.fromfile(f'{out}/{name}.features.bin', np.float32).reshape(self.ends[-1], -1)

    def of(self, source):
        return np.flatnonzero(self.sources == source)

    def cut(self, values, i):
        return values[self.ends[i]:self.ends[i + 1]]


def ndcg(scores, gains, ideal):
    best = np.argsort(-scores, kind='stable')[:CUT]
    places = np.log2(np.arange(2, CUT + 2))
    ideal = np.array(ideal[:CUT])
    return (gains[best] / places[:len(best)]).sum() / (ideal / places[:len(ideal)]).sum()


def sentences(lists, scores, source):
    """Share of questions whose right sentence is ranked first; share answered, and answered right, at the
    threshold that declines 9 of 10 questions without an answer.
    """
    first, kept, none = [], [], []
    for i in lists.of(source):
        found, right = lists.cut(scores, i), lists.gains[i] == 1
        # Ties are counted by their share: the right document is the first of the list.
        first.append(right[found >= found.max() - 1e-9].mean())
        kept.append(found.max())
        none.append(found[~right].max())
    first, kept, none = np.array(first), np.array(kept), np.array(none)
    threshold = np.quantile(none, DECLINED)
    return {'first': first.mean(), 'threshold': threshold, 'kept': (kept >= threshold).mean(),
            'kept and right': ((kept >= threshold) * first).mean(), 'top': kept, 'none': none, 'is first': first}


def collections(lists, scores, source):
    """nDCG@10 of each query: hybrid, the scores alone, and mixes."""
    found = {'hybrid': [], 'alone': [], **{m: [] for m in MIXES}}
    for i in lists.of(source):
        mine, hybrid = lists.cut(scores, i), lists.hybrid[i]
        ways = {'hybrid': hybrid, 'alone': mine, **{m: m * mine + (1 - m) * hybrid for m in MIXES}}
        for way, values in ways.items():
            found[way].append(ndcg(values, lists.gains[i], lists.all[i]))
    return {way: np.array(x) for way, x in found.items()}


def report(lists, scores):
    for source in SENTENCES:
        s = sentences(lists, scores, source)
        print(f"{source:16} right first {s['first']:.3f}; at {s['threshold']:.3f}, which declines {DECLINED:.0%} without answer: "
              f"kept {s['kept']:.3f}, kept and right {s['kept and right']:.3f}", flush=True)
    means = []
    for source in QUESTIONS + FIVE:
        c = collections(lists, scores, source)
        line = {way: x.mean() for way, x in c.items()}
        means += [list(line.values())] if source in FIVE else []
        print(f'{source:20}', ' '.join(f'{way} {x:.3f}' for way, x in line.items()),
              f"p of {MIXES[0]} {bootstrap(c[MIXES[0]], c['hybrid'], 2000):.3f}")
    print(f"{'mean of the five':20}", ' '.join(f'{x:.4f}' for x in np.mean(means, 0)), flush=True)
    return np.mean(means, 0)

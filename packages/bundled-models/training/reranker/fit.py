"""The scoring network: one hidden layer over the features, trained in numpy to rank lists and to classify documents."""
import json

import numpy as np

NETS, HIDDEN, ROUNDS, BATCH, RATE, DECAY = 4, 16, 12, 128, 8e-3, 1e-4
# Dropout of features (whole lists) and of hidden units.
DROP_FEATURES, DROP_HIDDEN = 0.2, 0.1
# Weight of the per-document loss; the rest is the softmax loss of the list.
CLASSIFY = 0.5
# Weight of a relevant document relative to others.
RELEVANT_WEIGHT = 5
MAX_DEVIATIONS = 4
# One list in this many is held out for calibration and measurement.
HOLD_OUT = 8
# Long topical queries, which no training set has, are scored by the mean of three lexical features instead.
GATE = {'at': 8, 'width': 2, 'scale': 8, 'offset': 3.5}
LEXICAL = ('best window', 'bm25', 'cosine')


class Lists:
    """The lists of OUT/train.jsonl with the features of their documents; `ends[i]` is where list i begins."""

    def __init__(self, out):
        with open(f'{out}/train.jsonl', encoding='utf-8') as file:
            rows = [json.loads(line) for line in file]
        self.sources = np.array([row['source'] for row in rows])
        self.gains = [np.array([1] + [0] * (len(row['documents']) - 1)) for row in rows]
        self.ends = np.cumsum([0] + [len(gains) for gains in self.gains])
        self.features = np.fromfile(f'{out}/train.features.bin', np.float32).reshape(self.ends[-1], -1)

    def cut(self, values, i):
        return values[self.ends[i]:self.ends[i + 1]]


class Scorer:
    """A trained network; `line` is its Platt scaling."""

    def __init__(self, names, mean, spread, weights):
        self.names, self.mean, self.spread, self.weights, self.line = names, mean, spread, weights, (1.0, 0.0)

    def scaled(self, features):
        return np.clip((features - self.mean) / self.spread, -MAX_DEVIATIONS, MAX_DEVIATIONS)

    def raw(self, features):
        w, x = self.weights, self.scaled(features)
        network = np.tanh(x @ w['hidden'] + w['bias']) @ w['out'] + w['out bias'] + x @ w['direct']
        column = {name: features[:, i] for i, name in enumerate(self.names)}
        share = 1 / (1 + np.exp((np.expm1(4 * column['terms']) - GATE['at']) / GATE['width']))
        lexical = sum(column[name] for name in LEXICAL) / len(LEXICAL)
        return share * network + (1 - share) * (GATE['scale'] * lexical - GATE['offset'])

    def probability(self, features):
        slope, offset = self.line
        return 1 / (1 + np.exp(-(slope * self.raw(features) + offset)))


def padded(lists, which):
    """Features (lists, longest, features), gains, and a mask of the documents."""
    longest = max(lists.ends[i + 1] - lists.ends[i] for i in which)
    x = np.zeros((len(which), longest, lists.features.shape[1]), np.float32)
    y, mask = np.zeros((len(which), longest), np.float32), np.zeros((len(which), longest), bool)
    for row, i in enumerate(which):
        n = lists.ends[i + 1] - lists.ends[i]
        x[row, :n], y[row, :n], mask[row, :n] = lists.cut(lists.features, i), lists.gains[i], True
    return x, y, mask


def gradients(w, x, y, mask, draw):
    """Gradients of the loss of one batch."""
    x = x * (draw.random((len(x), 1, x.shape[-1])) > DROP_FEATURES)
    hidden = np.tanh(x @ w['hidden'] + w['bias'])
    kept = (draw.random(hidden.shape) >= DROP_HIDDEN) / (1 - DROP_HIDDEN)
    score = np.where(mask, (hidden * kept) @ w['out'] + w['out bias'] + x @ w['direct'], -1e4)
    exp = np.exp(score - score.max(1, keepdims=True))
    softmax = exp / exp.sum(1, keepdims=True)
    probability = 1 / (1 + np.exp(-np.clip(score, -30, 30)))
    weight = (1 + y * (RELEVANT_WEIGHT - 1)) / (RELEVANT_WEIGHT - 1)
    error = (1 - CLASSIFY) * (softmax * y.sum(1, keepdims=True) - y) + CLASSIFY * weight * (probability - y)
    error = (np.where(mask, error, 0) / len(x)).astype(np.float32)
    inner = error[..., None] * w['out'] * kept * (1 - hidden * hidden)
    return {'hidden': np.einsum('ijk,ijl->kl', x, inner, optimize=True), 'bias': inner.sum((0, 1)),
            'out': np.einsum('ij,ijk->k', error, hidden * kept), 'out bias': error.sum(),
            'direct': np.einsum('ij,ijk->k', error, x)}


def one_cycle(share):
    """Rate and momentum of the one-cycle schedule at a share of the training."""
    rising = share < 0.3
    at = share / 0.3 if rising else (share - 0.3) / 0.7
    low = RATE / 25 if rising else RATE / 25e4
    rate = RATE + (low - RATE) * (1 + np.cos(np.pi * at)) / 2 if rising else low + (RATE - low) * (1 + np.cos(np.pi * at)) / 2
    return rate, 0.85 + 0.1 * (1 - at if rising else at)


def fit_one(x, y, mask, seed):
    """One network, by AdamW."""
    draw = np.random.default_rng(seed)
    width, bound = x.shape[-1], 1 / np.sqrt(x.shape[-1])
    w = {'hidden': draw.uniform(-bound, bound, (width, HIDDEN)), 'bias': draw.uniform(-bound, bound, HIDDEN),
         'out': np.zeros(HIDDEN), 'out bias': np.zeros(()), 'direct': np.zeros(width)}
    first, second = ({name: np.zeros_like(v) for name, v in w.items()} for _ in range(2))
    batches = len(x) // BATCH
    for step in range(ROUNDS * batches):
        if step % batches == 0:
            order = draw.permutation(len(x))
        batch = order[step % batches * BATCH:][:BATCH]
        rate, momentum = one_cycle(step / (ROUNDS * batches))
        for name, g in gradients(w, x[batch], y[batch], mask[batch], draw).items():
            first[name] = momentum * first[name] + (1 - momentum) * g
            second[name] = 0.999 * second[name] + 0.001 * g * g
            change = first[name] / (np.sqrt(second[name] / (1 - 0.999 ** (step + 1))) + 1e-8)
            w[name] = w[name] * (1 - rate * DECAY) - rate * change
    return w


def fit(lists, which, names):
    """The mean of `NETS` networks, which is one network of all their hidden units."""
    x, y, mask = padded(lists, which)
    scorer = Scorer(names, x[mask].mean(0), x[mask].std(0) + 1e-4, None)
    nets = [fit_one(scorer.scaled(x).astype(np.float32), y, mask, seed) for seed in range(NETS)]
    scorer.weights = {'hidden': np.concatenate([n['hidden'] for n in nets], 1), 'bias': np.concatenate([n['bias'] for n in nets]),
                      'out': np.concatenate([n['out'] for n in nets]) / NETS, 'out bias': np.mean([n['out bias'] for n in nets]),
                      'direct': np.mean([n['direct'] for n in nets], 0)}
    return scorer


def calibrate(scorer, lists, which):
    """Platt scaling on held-out lists: a score is the share of such documents that are relevant."""
    scores = scorer.raw(lists.features)
    raw = np.concatenate([lists.cut(scores, i) for i in which])
    relevant = np.concatenate([lists.gains[i] for i in which])
    slope, offset = 1.0, 0.0
    for _ in range(50):
        share = 1 / (1 + np.exp(-(slope * raw + offset)))
        weight = share * (1 - share)
        error = np.array([(raw * (relevant - share)).sum(), (relevant - share).sum()])
        curve = np.array([[(weight * raw * raw).sum(), (weight * raw).sum()], [(weight * raw).sum(), weight.sum()]])
        slope, offset = np.array([slope, offset]) + np.linalg.solve(curve + 1e-6 * np.eye(2), error)
    scorer.line = float(slope), float(offset)

"""A small network over the features, trained to put the right document first, then calibrated to probabilities."""
import numpy as np
from scipy import optimize

HIDDEN, ROUNDS, RATE, DECAY = 12, 400, 0.02, 3e-3


class Scorer:
    def __init__(self, mean, spread, parts):
        self.mean, self.spread, self.parts = mean, spread, parts
        self.slope, self.offset = 1.0, 0.0

    def raw(self, features):
        scaled = np.clip((features - self.mean) / self.spread, -4, 4)
        hidden, bias, out, direct = self.parts
        return np.tanh(scaled @ hidden + bias) @ out + scaled @ direct

    def probability(self, features):
        return 1 / (1 + np.exp(-(self.slope * self.raw(features) + self.offset)))


def fit(lists, seed=0, rounds=ROUNDS, decay=DECAY):
    """`lists`: float array (lists, documents, features), the right document first. Full-batch Adam on the list-wise loss."""
    flat = lists.reshape(-1, lists.shape[-1])
    scorer = Scorer(flat.mean(0), flat.std(0) + 1e-6, None)
    x = np.clip((lists - scorer.mean) / scorer.spread, -4, 4)
    draw, size = np.random.default_rng(seed), lists.shape[-1]
    parts = [draw.normal(0, 0.3, (size, HIDDEN)), np.zeros(HIDDEN), np.zeros(HIDDEN), np.zeros(size)]
    moments = [(np.zeros_like(p), np.zeros_like(p)) for p in parts]
    for step in range(1, rounds + 1):
        rate = RATE * (1 - step / (rounds + 1))
        for part, gradient, (first, second) in zip(parts, slopes(x, parts), moments):
            gradient = gradient + decay * part
            first += 0.1 * (gradient - first)
            second += 0.01 * (gradient ** 2 - second)
            part -= rate * (first / (1 - 0.9 ** step)) / (np.sqrt(second / (1 - 0.99 ** step)) + 1e-8)
    scorer.parts = parts
    return scorer


def slopes(x, parts):
    hidden, bias, out, direct = parts
    inside = np.tanh(x @ hidden + bias)
    scores = inside @ out + x @ direct
    shares = np.exp(scores - scores.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    shares[:, 0] -= 1
    shares /= len(x)
    back = shares[..., None] * out * (1 - inside ** 2)
    flat, back_flat = x.reshape(-1, x.shape[-1]), back.reshape(-1, back.shape[-1])
    return flat.T @ back_flat, back_flat.sum(0), inside.reshape(-1, inside.shape[-1]).T @ shares.ravel(), flat.T @ shares.ravel()


def calibrate(scorer, lists):
    """Platt scaling: right documents against the wrong ones of their lists, the two kinds weighing the same."""
    raw = scorer.raw(lists)
    right, wrong = raw[:, 0].ravel(), raw[:, 1:].ravel()

    def loss(line):
        return np.logaddexp(0, -(line[0] * right + line[1])).mean() + np.logaddexp(0, line[0] * wrong + line[1]).mean()

    found = optimize.minimize(loss, [0.5, 0.0])
    scorer.slope, scorer.offset = map(float, found.x)

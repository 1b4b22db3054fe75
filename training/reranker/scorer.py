"""A small network over the features, trained to put the right document first, then calibrated to probabilities."""
import numpy as np

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


def calibrate(scorer, lists, rounds=50):
    """Platt scaling by Newton's method: right documents against the wrong ones of their lists, each list's halves weighing the same."""
    raw = scorer.raw(lists.reshape(-1, lists.shape[-1])).reshape(lists.shape[:2])
    wrong = lists.shape[1] - 1
    weights = np.full(raw.shape, 1 / wrong)
    weights[:, 0] = 1
    target = np.zeros(raw.shape)
    target[:, 0] = 1
    slope, offset = 1.0, 0.0
    for _ in range(rounds):
        p = 1 / (1 + np.exp(-np.clip(slope * raw + offset, -30, 30)))
        error, curve = weights * (p - target), weights * p * (1 - p)
        gradient = np.array([(error * raw).sum(), error.sum()])
        hessian = np.array([[(curve * raw * raw).sum(), (curve * raw).sum()], [(curve * raw).sum(), curve.sum()]])
        change = np.linalg.solve(hessian + 1e-6 * np.eye(2), gradient)
        slope, offset = slope - change[0], offset - change[1]
    scorer.slope, scorer.offset = float(slope), float(offset)

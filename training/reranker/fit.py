"""The scorer: a small network over the features that puts the right document first and says how sure it is."""
import numpy as np
import torch

from measure import Lists

HIDDEN, ROUNDS, BATCH, RATE, DECAY = 16, 12, 128, 8e-3, 1e-4
# Features hidden from a list in training, and hidden units: a fit that leans on few of them fails on other collections.
HIDE, DROP = 0.2, 0.1
# Share of the loss that asks of each document whether it is right; the rest asks that the right one come first.
EACH = 0.5
# A right document counts as this many wrong ones.
RIGHT = 5
MOST_DEVIATIONS = 4
# One list in so many is kept from the fit, to measure and to calibrate on.
CHECK_EVERY = 8
# Long topical requests are judged by plain likeness instead: no training set has any.
GATE = {'at': 8, 'width': 2, 'scale': 8, 'off': 3.5}
PLAIN = ('window covered alike', 'bm25 of all', 'cosine')


class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inside = torch.nn.Linear(width, HIDDEN)
        self.out = torch.nn.Linear(HIDDEN, 1)
        self.direct = torch.nn.Linear(width, 1, bias=False)
        torch.nn.init.zeros_(self.out.weight)
        torch.nn.init.zeros_(self.direct.weight)

    def forward(self, x, drop=0.0):
        hidden = torch.nn.functional.dropout(torch.tanh(self.inside(x)), drop)
        return (self.out(hidden) + self.direct(x)).squeeze(-1)


class Scorer:
    """A fitted network with what it takes features as; `line` is the calibration."""

    def __init__(self, net, names, mean, spread):
        self.net, self.names, self.mean, self.spread, self.line = net, names, mean, spread, (1.0, 0.0)

    def scaled(self, features):
        return ((torch.tensor(features) - self.mean) / self.spread).clip(-MOST_DEVIATIONS, MOST_DEVIATIONS)

    def raw(self, features):
        with torch.no_grad():
            network = self.net(self.scaled(features)).numpy()
        column = {name: features[:, i] for i, name in enumerate(self.names)}
        # The feature is log(1 + terms) / 4.
        share = 1 / (1 + np.exp((np.expm1(4 * column['terms']) - GATE['at']) / GATE['width']))
        plain = sum(column[name] for name in PLAIN) / len(PLAIN)
        return share * network + (1 - share) * (GATE['scale'] * plain - GATE['off'])

    def probability(self, features):
        slope, offset = self.line
        return 1 / (1 + np.exp(-(slope * self.raw(features) + offset)))


def padded(lists, which):
    """Features (lists, most, features), gains, and which places are taken."""
    most = max(lists.ends[i + 1] - lists.ends[i] for i in which)
    x = np.zeros((len(which), most, lists.features.shape[1]), np.float32)
    y, taken = np.zeros((len(which), most), np.float32), np.zeros((len(which), most), bool)
    for row, i in enumerate(which):
        n = lists.ends[i + 1] - lists.ends[i]
        x[row, :n], y[row, :n], taken[row, :n] = lists.cut(lists.features, i), lists.gains[i], True
    return torch.tensor(x), torch.tensor(y), torch.tensor(taken)


def fit(lists, which, names, seed=0):
    torch.manual_seed(seed)
    x, y, taken = padded(lists, which)
    made = Scorer(Net(x.shape[-1]), names, x[taken].mean(0), x[taken].std(0) + 1e-4)
    x = ((x - made.mean) / made.spread).clip(-MOST_DEVIATIONS, MOST_DEVIATIONS)
    optimiser = torch.optim.AdamW(made.net.parameters(), RATE, weight_decay=DECAY)
    batches = len(which) // BATCH
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, total_steps=ROUNDS * batches)
    for _ in range(ROUNDS):
        for batch in torch.randperm(len(which))[:batches * BATCH].split(BATCH):
            shown = x[batch] * (torch.rand(BATCH, 1, x.shape[-1]) > HIDE)
            score = made.net(shown, DROP).masked_fill(~taken[batch], -1e4)
            first = -(torch.log_softmax(score, 1) * y[batch]).sum(1)
            each = torch.nn.functional.binary_cross_entropy_with_logits(score, y[batch], reduction='none')
            each = (each * taken[batch] * (1 + y[batch] * (RIGHT - 1))).sum(1) / (RIGHT - 1)
            loss = ((1 - EACH) * first + EACH * each).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
    return made


def calibrate(made, lists, which):
    """Platt scaling on lists that the fit has not seen: a score is how many of such documents are right."""
    scores = made.raw(lists.features)
    raw = np.concatenate([lists.cut(scores, i) for i in which])
    right = np.concatenate([lists.gains[i] for i in which])
    slope, offset = 1.0, 0.0
    for _ in range(50):
        share = 1 / (1 + np.exp(-(slope * raw + offset)))
        weight = share * (1 - share)
        error = np.array([(raw * (right - share)).sum(), (right - share).sum()])
        curve = np.array([[(weight * raw * raw).sum(), (weight * raw).sum()], [(weight * raw).sum(), weight.sum()]])
        slope, offset = np.array([slope, offset]) + np.linalg.solve(curve + 1e-6 * np.eye(2), error)
    made.line = float(slope), float(offset)

"""Contrastive training of the token table on pairs."""
import time

import numpy as np

from model import Adagrad, contrast, count_matrix, normalised, through_norm

BLOCK = 16          # neighbours in a source (the same article, the same manual) go into one batch: they are the hard negatives
BATCH = 768
LOG_EVERY = 50


class Pairs:
    """One source: rows of every a, of every distinct b, and which b belongs to which a."""

    def __init__(self, a, which, b, rows):
        self.a, self.which, self.b = count_matrix(a, rows), np.asarray(which), count_matrix(b, rows)

    def __len__(self):
        return len(self.which)

    def draw(self, generator, size):
        blocks = len(self) // BLOCK
        chosen = generator.choice(blocks, min(blocks, size // BLOCK), replace=False)
        picks = (chosen[:, None] * BLOCK + np.arange(BLOCK)).ravel()
        which = self.which[picks]
        return self.a[picks], self.b[which], which


def train(table, sources, shares, steps, rate, seed=0, scale=20.0, report=None, batch=BATCH):
    """Trains `table` in place for `steps` batches, each of one source drawn by `shares` ({name: weight})."""
    generator = np.random.default_rng(seed)
    names = sorted(shares)
    odds = np.array([shares[n] for n in names], float)
    odds /= odds.sum()
    optimiser, losses, began = Adagrad(table, rate), {}, time.time()
    for step in range(steps):
        name = names[generator.choice(len(names), p=odds)]
        left, right, which = sources[name].draw(generator, batch)
        share = min(1, (step + 1) / 50) * (1 - 0.9 * step / steps)
        loss, slope = one_step(table, optimiser, (left, right, which), scale, share)
        scale = float(np.clip(scale * np.exp(-0.002 * np.sign(slope)), 10, 50))
        losses.setdefault(name, []).append(loss)
        if report and (step + 1) % LOG_EVERY == 0:
            report(step + 1, {n: float(np.mean(x[-10:])) for n, x in losses.items()}, scale, time.time() - began)
    return scale


def one_step(table, optimiser, drawn, scale, share):
    left, right, which = drawn
    used = np.unique(np.concatenate([left.indices, right.indices]))
    place = np.zeros(table.shape[0], np.int64)
    place[used] = np.arange(len(used))
    left, right = narrowed(left, place, len(used)), narrowed(right, place, len(used))
    part = table[used]
    a, a_lengths = normalised(left @ part)
    b, b_lengths = normalised(right @ part)
    same = which[:, None] == which[None, :]
    np.fill_diagonal(same, False)
    loss, grad_a, grad_b, slope = contrast(a, b, same, scale)
    gradient = left.T @ through_norm(grad_a, a, a_lengths) + right.T @ through_norm(grad_b, b, b_lengths)
    optimiser.step(used, gradient.astype(np.float32), share)
    return loss, slope


def narrowed(matrix, place, count):
    """The same matrix over the used columns only."""
    return type(matrix)((matrix.data, place[matrix.indices], matrix.indptr), shape=(matrix.shape[0], count))

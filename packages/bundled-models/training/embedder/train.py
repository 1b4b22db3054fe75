"""Contrastive training of the token table on pairs."""
import os
import time

import numpy as np

from model import Adagrad, contrast, count_matrix, normalised, through_norm

BLOCK = 16          # neighbours in a source (the same article, the same manual) go into one batch: they are the hard negatives
BATCH = 768
HELD_BACK = 12      # every so many blocks one is kept from training, for the reranker to learn from
LONGEST_ROWS = 300
LOG_EVERY, SAVE_EVERY = 50, 200
# The inverse temperature of the softmax: where it starts, how fast it may move, and between what.
START_SCALE, SCALE_RATE, SCALES = 20.0, 0.002, (10, 50)
WARM_UP, AVERAGE_EVERY = 50, 10
# Share of a text's rows that a step drops. Without dropout the loss falls to a third, and unseen collections get
# worse.
DROPPED = 0.3


class Pairs:
    """One source: rows of every a, of every distinct b, and which b belongs to which a."""

    def __init__(self, a, which, b, rows):
        self.a, self.b = (count_matrix([text[:LONGEST_ROWS] for text in texts], rows) for texts in (a, b))
        self.which, self.texts = np.asarray(which), (a, which, b)
        blocks = np.arange(len(self.which) // BLOCK)
        self.blocks = blocks[blocks % HELD_BACK != HELD_BACK - 1]

    def __len__(self):
        return len(self.which)

    def held_back(self):
        """Indices of the pairs that `draw` never returns."""
        blocks = np.arange(len(self.which) // BLOCK)
        return (blocks[blocks % HELD_BACK == HELD_BACK - 1][:, None] * BLOCK + np.arange(BLOCK)).ravel()

    def draw(self, generator, size):
        chosen = generator.choice(self.blocks, min(len(self.blocks), size // BLOCK), replace=False)
        picks = (chosen[:, None] * BLOCK + np.arange(BLOCK)).ravel()
        which = self.which[picks]
        return self.a[picks], self.b[which], which


def train(table, sources, shares, steps, rate, seed=0, report=None, checkpoint=None):
    """Trains `table` for `steps` batches, each of one source drawn by `shares` ({name: weight}).

    Returns the average of the tables of its last two thirds: better on unseen collections than the last one.

    With `checkpoint` (a file) it is saved there now and then, and a later call goes on from it.
    """
    names = sorted(shares)
    odds = np.array([shares[n] for n in names], float)
    odds /= odds.sum()
    optimiser, losses, began, first, scale = Adagrad(table, rate), {}, time.time(), 0, START_SCALE
    average, averaged = np.zeros_like(table), 0
    if checkpoint and os.path.exists(checkpoint):
        saved = np.load(checkpoint)
        optimiser.table, optimiser.sums, first, scale = saved['table'], saved['sums'], int(saved['step']), float(saved['scale'])
        average, averaged = saved['average'], int(saved['averaged'])
    for step in range(first, steps):
        # Each step has its own seed, so that a resumed run continues identically.
        generator = np.random.default_rng((seed, step))
        name = names[generator.choice(len(names), p=odds)]
        share = min(1, (step + 1) / WARM_UP) * (1 - 0.7 * step / steps)
        left, right, which = sources[name].draw(generator, BATCH)
        loss, slope = one_step(optimiser, (dropped(left, generator), dropped(right, generator), which), scale, share)
        if step >= steps // 3 and step % AVERAGE_EVERY == 0:
            averaged += 1
            average += (optimiser.table - average) / averaged
        scale = float(np.clip(scale * np.exp(-SCALE_RATE * np.sign(slope)), *SCALES))
        losses.setdefault(name, []).append(loss)
        if report and (step + 1) % LOG_EVERY == 0:
            report(step + 1, {n: float(np.mean(x[-10:])) for n, x in losses.items()}, scale, time.time() - began)
        if checkpoint and ((step + 1) % SAVE_EVERY == 0 or step + 1 == steps):
            np.savez(checkpoint + '.part.npz', table=optimiser.table, sums=optimiser.sums, step=step + 1, scale=scale,
                     average=average, averaged=averaged)
            os.replace(checkpoint + '.part.npz', checkpoint)
    return average


def dropped(matrix, generator):
    """Removes random rows of each text."""
    matrix = matrix.copy()
    matrix.data = matrix.data * (generator.random(len(matrix.data)) >= DROPPED)
    return matrix


def one_step(optimiser, drawn, scale, share):
    table, (left, right, which) = optimiser.table, drawn
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

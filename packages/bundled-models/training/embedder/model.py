"""The static embedder: a text's vector is the sum of its rows' vectors, each damped by how often it occurs, normalised.

The length of a row's vector is the weight of the token: it is learned with the direction. Gradients are written by hand:
everything is one sparse matrix (texts by rows) times one table.
"""
import numpy as np
from scipy import sparse

WIDTH = 512
OUTPUT = 1024


def count_matrix(texts, rows):
    """Lists of row numbers to a sparse matrix (texts, rows) of damped counts: the square root of how often a row occurs."""
    lengths = [len(t) for t in texts]
    columns = np.concatenate([np.asarray(t, np.int64) for t in texts]) if sum(lengths) else np.zeros(0, np.int64)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    matrix = sparse.csr_matrix((np.ones(len(columns), np.float32), columns, starts), shape=(len(texts), rows))
    matrix.sum_duplicates()
    matrix.data = np.sqrt(matrix.data)
    return matrix


def normalised(sums):
    lengths = np.sqrt((sums * sums).sum(1, keepdims=True)) + 1e-9
    return sums / lengths, lengths


def initial_table(teacher, weights, seed, width=WIDTH, noise=0.6):
    """The teacher's directions in the first columns, and random directions in the others, times `weights`. Rows
    without a teacher vector (hashed ones) are random in all columns.
    """
    rows, known = len(weights), len(teacher)
    draw = np.random.default_rng(seed)
    table = draw.standard_normal((rows, width)).astype(np.float32) / np.sqrt(width)
    directions = teacher / (np.linalg.norm(teacher, axis=1, keepdims=True) + 1e-9)
    table[:known] *= noise
    table[:known, :teacher.shape[1]] = directions
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    return table * weights[:, None].astype(np.float32)


class Adagrad:
    """One step size per row: rare rows keep learning, frequent rows converge."""

    def __init__(self, table, rate, start=1e-8):
        self.table, self.rate = table, rate
        self.sums = np.full(len(table), start, np.float32)

    def step(self, rows, gradient, share):
        self.sums[rows] += (gradient * gradient).mean(1)
        self.table[rows] -= (self.rate * share / np.sqrt(self.sums[rows]))[:, None] * gradient


def contrast(a, b, same, scale):
    """Symmetric InfoNCE of unit vectors a[i], b[i]; `same` marks pairs that are no negatives. (loss, grad a, grad b, grad scale)."""
    cosines = a @ b.T
    logits = scale * cosines
    logits[same] = -1e4
    size = len(a)
    rowwise = np.exp(logits - logits.max(1, keepdims=True))
    rowwise /= rowwise.sum(1, keepdims=True)
    columnwise = np.exp(logits - logits.max(0, keepdims=True))
    columnwise /= columnwise.sum(0, keepdims=True)
    right = np.arange(size)
    loss = -0.5 * (np.log(rowwise[right, right] + 1e-12) + np.log(columnwise[right, right] + 1e-12)).mean()
    slope = rowwise + columnwise
    slope[right, right] -= 2
    slope *= 0.5 / size
    return loss, scale * (slope @ b), scale * (slope.T @ a), float((slope * cosines).sum())


def through_norm(gradient, unit, lengths):
    """Gradient of the sums from the gradient of the unit vectors."""
    return (gradient - (gradient * unit).sum(1, keepdims=True) * unit) / lengths

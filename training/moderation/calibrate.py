"""Turns logits into scores: one slope and offset a category, so that 0.5 is an even bet at a base rate that services see."""
import numpy as np

from examples import OPEN
from sources import CATEGORIES

# The share of harmful texts for which scores are calibrated, and how the rest is mixed.
BASE_RATE = 0.05
EVERYDAY = {'squad', 'wikisplit', 'banking77', 'dolly', 'wordnet', 'clinc', 'topicalchat', 'medquad', 'tldr', 'sgd', 't0', 'oss_docs', 'gsm8k', 'self_instruct'}


def fit(logits, labels, weights, rounds=50):
    """(slope, offset) of a weighted logistic regression on one logit, by Newton's method."""
    slope, offset = 1.0, 0.0
    for _ in range(rounds):
        score = 1 / (1 + np.exp(-np.clip(slope * logits + offset, -30, 30)))
        error, bend = weights * (score - labels), weights * score * (1 - score) + 1e-9
        first = np.array([(error * logits).sum() + 1e-4 * (slope - 1), error.sum()])
        second = np.array([[(bend * logits ** 2).sum() + 1e-4, (bend * logits).sum()], [(bend * logits).sum(), bend.sum()]])
        step = np.linalg.solve(second, first)
        slope, offset = slope - step[0], offset - step[1]
    return slope, offset


def calibrate(logits, labels, names):
    """Slopes and offsets of all categories from held-back examples (logits and labels n x 5, set names)."""
    everyday = np.isin(names, list(EVERYDAY))
    slopes, offsets = [], []
    for category in range(len(CATEGORIES)):
        said = labels[:, category] != OPEN
        harmful = said & (labels[:, category] > 0.5)
        weights = np.zeros(len(labels))
        weights[harmful] = BASE_RATE / harmful.sum()
        for group in (everyday, ~everyday):
            group = group & said & ~harmful
            weights[group] = (1 - BASE_RATE) / 2 / group.sum()
        slope, offset = fit(logits[said, category], (labels[said, category] > 0.5).astype(float), weights[said])
        slopes.append(slope)
        offsets.append(offset)
    return slopes, offsets

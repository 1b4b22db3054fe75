"""Converts logits to scores: a slope for each category by logistic regression, and an offset such that few
everyday texts exceed 0.5.
"""
import numpy as np

from examples import OPEN
from sources import CATEGORIES

# The mix of texts for calibration: harmful ones, harmless ones of sets about harm, everyday ones.
HARMFUL, HARD, PLAIN = 0.1, 0.1, 0.8
# Share of everyday texts that a category may flag at 0.5.
FALSE_ALARMS = 0.001
# Corrections on the OpenAI development set (see the model card): harassment and sexual flagged too many of its other texts,
# and violence too few harmful ones.
OFFSET_CORRECTIONS = {'harassment': -1.2, 'sexual': -0.45, 'violence': 0.9}
# Lowers the scores of long texts with each doubling of their words, where that improves the ranking of the same set and finds threats
# inside long texts as before. Applied by
# the service (`moderator.ts`).
LENGTH_SLOPES = {'hate': 0.6, 'self_harm': 0.5, 'violence': 0.3}
EVERYDAY = {'squad', 'wikisplit', 'banking77', 'dolly', 'wordnet', 'clinc', 'topicalchat', 'medquad', 'tldr', 'sgd', 't0', 'oss_docs', 'gsm8k', 'self_instruct'}


def fit(logits, labels, weights, rounds=60):
    """(slope, offset) of a weighted logistic regression on one logit, by Newton's method with shortened steps; weights sum to 1."""
    def loss(slope, offset):
        margin = (slope * logits + offset) * (2 * labels - 1)
        return (weights * np.logaddexp(0, -margin)).sum() + 1e-4 * slope * slope

    slope, offset = 0.5, -1.0
    for _ in range(rounds):
        score = 1 / (1 + np.exp(-np.clip(slope * logits + offset, -30, 30)))
        error, bend = weights * (score - labels), weights * score * (1 - score)
        first = np.array([(error * logits).sum() + 2e-4 * slope, error.sum()])
        second = np.array([[(bend * logits ** 2).sum() + 2e-4, (bend * logits).sum()], [(bend * logits).sum(), bend.sum() + 1e-9]])
        step = np.linalg.solve(second, first)
        now = loss(slope, offset)
        while loss(slope - step[0], offset - step[1]) > now and np.abs(step).max() > 1e-9:
            step /= 2
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
        weights[harmful] = HARMFUL / harmful.sum()
        for group, share in ((everyday, PLAIN), (~everyday, HARD)):
            group = group & said & ~harmful
            weights[group] = share / group.sum()
        slope, _ = fit(logits[said, category], (labels[said, category] > 0.5).astype(float), weights[said])
        slopes.append(slope)
        offset = -slope * np.quantile(logits[everyday & said & ~harmful, category], 1 - FALSE_ALARMS)
        offsets.append(offset + OFFSET_CORRECTIONS.get(CATEGORIES[category], 0))
    return slopes, offsets

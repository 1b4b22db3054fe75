"""
Measures a weights file on the development sets, as the reader reads it, and prints the card's figures.

    python3 evaluate.py DATA MODEL SCRATCH
"""
import json
import os
import random
import subprocess
import sys
from collections import defaultdict

import numpy as np

import sources
from disguise import DISGUISES
from examples import HERE, write_texts
from sources import CATEGORIES, HATE


def classify(model, texts, scratch, what):
    """(n, 5) `scores` or `logits` of texts, as the reader gives them."""
    path = os.path.join(scratch, 'judge.txt')
    write_texts(texts, path)
    answer = subprocess.run([os.environ.get('NODE', 'node'), os.path.join(HERE, 'judge.ts'), model, path, what], check=True, capture_output=True, text=True).stdout
    return np.array([json.loads(line) for line in answer.splitlines()])


def judge_logits(model, texts, scratch):
    """(n, 5) logits of texts."""
    return classify(model, texts, scratch, 'logits')


def judge(model, texts, scratch):
    """(n, 5) scores of texts."""
    return classify(model, texts, scratch, 'scores')


def average_precision(labels, scores):
    order = np.argsort(-scores, kind='stable')
    labels = labels[order]
    return (np.cumsum(labels) / np.arange(1, len(labels) + 1) * labels).sum() / labels.sum()


def area(labels, scores):
    """Area under the ROC curve."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores, kind='stable')] = np.arange(1, len(scores) + 1)
    harmful = labels.sum()
    return (ranks[labels > 0].sum() - harmful * (harmful + 1) / 2) / (harmful * (len(labels) - harmful))


def openai(data, model, scratch):
    rows = sources.rows(data, 'moderation/openai_eval_1680.dev.jsonl.gz')
    scores = judge(model, [row['text'] for row in rows], scratch)
    print('openai_eval dev | labelled | harmful | AUPRC | AUROC | at 0.5: precision | recall | false alarms')
    for number, category in enumerate(CATEGORIES):
        labels = np.array([row['labels'].get(category, -1) for row in rows])
        said = labels >= 0
        labels, own = labels[said], scores[said, number]
        fired = own > 0.5
        precision = labels[fired].mean() if fired.any() else float('nan')
        print(f'{category} | {len(labels)} | {labels.sum()} | {average_precision(labels, own):.3f} | {area(labels, own):.3f} | '
              f'{precision:.2f} | {fired[labels > 0].mean():.2f} | {fired[labels == 0].mean():.3f}')
    clean = np.array([not any(row['labels'].values()) and len(row['labels']) > 7 for row in rows])
    print(f'texts labelled harmless throughout: {clean.sum()}, flagged {(scores[clean] > 0.5).any(1).mean():.3f}')


def hatecheck(data, model, scratch):
    rows = sources.rows(data, 'moderation/hatecheck.dev.jsonl.gz')
    scores = judge(model, [row['text'] for row in rows], scratch)[:, HATE]
    groups = defaultdict(list)
    for row, score in zip(rows, scores):
        right = bool(row['labels']['hate']) == bool(score > 0.5)
        for key in (row['functionality'], 'all', 'all hateful' if row['labels']['hate'] else 'all not hateful', 'target ' + row['target']):
            groups[key].append(right)
    hateful = np.array([row['labels']['hate'] for row in rows])
    print(f'HateCheck dev: AUROC {area(hateful, scores):.3f}; score of hate at 0.5 | cases | right')
    for key in sorted(groups):
        print(f'{key} | {len(groups[key])} | {np.mean(groups[key]):.3f}')


def xstest(data, model, scratch, show):
    rows = sources.rows(data, 'moderation/xstest.dev.jsonl.gz')
    scores = judge(model, [row['text'] for row in rows], scratch)
    unsafe = np.array([row['labels']['unsafe'] for row in rows])
    fired = (scores > 0.5).any(1)
    print(f'XSTest dev: false alarms {fired[unsafe == 0].sum()} of {(unsafe == 0).sum()} = {fired[unsafe == 0].mean():.3f}; '
          f'unsafe prompts flagged {fired[unsafe == 1].mean():.3f} of {(unsafe == 1).sum()}')
    if show:
        for row, own in zip(rows, scores):
            if not row['labels']['unsafe'] and (own > 0.5).any():
                print('   ', row['text'], [CATEGORIES[i] for i in np.flatnonzero(own > 0.5)])


def robust(data, model, scratch):
    rows = sources.rows(data, 'moderation/hatecheck.dev.jsonl.gz')
    rows = [row for row in rows if not row['functionality'].startswith('spell')]
    prompts = sources.rows(data, 'moderation/xstest.dev.jsonl.gz')
    texts = [row['text'] for row in rows] + [row['text'] for row in prompts if not row['labels']['unsafe']]
    hateful = np.array([row['labels']['hate'] for row in rows] + [-1] * (len(texts) - len(rows)))
    print('disguise of HateCheck dev without its spelling cases and of the safe XSTest prompts | hateful found | harmless passed | safe prompts flagged')
    for name, disguise in {'none': lambda text, chance: text, **DISGUISES}.items():
        chance = random.Random(7)
        scores = judge(model, [disguise(text, chance) for text in texts], scratch)
        fired = scores[:, HATE] > 0.5
        print(f'{name} | {fired[hateful == 1].mean():.3f} | {1 - fired[hateful == 0].mean():.3f} | {(scores[hateful == -1] > 0.5).any(1).mean():.3f}')


def long_texts(data, model, scratch):
    """Share of harmless texts that are flagged, by length: held-out everyday sentences, concatenated; and with one
    harmful sentence among them.
    """
    with open(os.path.join(scratch, 'examples.json')) as file:
        rows = [row for row in json.load(file) if row[3] == 1 and row[2] in ('wikisplit', 'squad', 'dolly', 'topicalchat')]
    chance = random.Random(5)
    print('everyday text of about | texts | flagged | flagged with one threat or insult inside')
    for length, count in ((200, 400), (1000, 400), (5000, 200), (20000, 60)):
        texts, mixed = [], []
        for _ in range(count):
            parts = []
            while sum(map(len, parts)) < length:
                parts.append(chance.choice(rows)[0])
            texts.append(' '.join(parts))
            parts.insert(chance.randrange(len(parts) + 1), chance.choice(['I am going to stab you tonight.', 'You are a pathetic worthless idiot.', 'I want to kill myself.']))
            mixed.append(' '.join(parts))
        fired = [(judge(model, own, scratch) > 0.5).any(1).mean() for own in (texts, mixed)]
        print(f'{length} characters | {count} | {fired[0]:.3f} | {fired[1]:.3f}')


def main():
    data, model, scratch = sys.argv[1:4]
    openai(data, model, scratch)
    hatecheck(data, model, scratch)
    xstest(data, model, scratch, '--show' in sys.argv)
    robust(data, model, scratch)
    long_texts(data, model, scratch)


if __name__ == '__main__':
    main()

"""The training mixture: examples for training and calibration, and their encoding by the service's tokenizer."""
import hashlib
import json
import os
import random
import re
from collections import Counter

import numpy as np

import sources
import synthetic
from runtime import node, write_texts

# Ids 0 to 7 are not words: padding, punctuation, numbers and letters of other scripts, in this order.
MARKS = ['', '.', ',', '!', '?', '"', '#', '~']
WORDS = 18432
BUCKETS = 8192
OPEN = -1.0


def gather(data, out, seed):
    """All examples as {'text', 'labels' (n x 5, OPEN when the set has no label), 'name', 'part'}; part 0 is for
    training, 1 for calibration. Stored in `out` for the next run.
    """
    kept = os.path.join(out, 'sets.json')
    if not os.path.exists(kept):
        found = [(*example, part(example[0])) for example in sources.moderation_sets(data) + sources.benign_sets(data)]
        with open(kept, 'w') as file:
            json.dump(found, file)
    with open(kept) as file:
        found = json.load(file)
    terms = sources.term_lists(data)
    for held_back in (False, True):
        found += [(*example, int(held_back)) for example in synthetic.made_up(terms, seed, 60, held_back)]
    found += joined(found, random.Random(seed))
    found += perturbed(found, random.Random(seed + 1))
    with open(os.path.join(out, 'examples.json'), 'w') as file:
        json.dump(found, file)
    labels = np.array([[OPEN if value is None else value for value in row[1]] for row in found], np.float32)
    return {'text': [row[0] for row in found], 'labels': labels, 'name': [row[2] for row in found],
            'part': np.array([row[3] for row in found])}


def part(text):
    """1 for a tenth of the texts, selected by a hash of their content."""
    return int(hashlib.sha256(text.encode()).digest()[0] < 26)


def joined(found, chance):
    """Generated and harmful sentences inserted into everyday ones; the labels are those of the inserted sentence."""
    everyday = [row for row in found if row[2] in ('wikisplit', 'topicalchat', 'dolly', 'squad', 'sgd', 'clinc') and len(row[0]) < 400]
    central = [row for row in found if row[2] in ('made_up', 'ailuminate', 'simple_safety', 'harmful_requests', 'stormfront')]
    result = []
    for text, labels, _, where in chance.sample(central, 24000):
        before, after = chance.choice(everyday)[0], chance.choice(everyday)[0]
        kind = chance.randrange(4)
        text = text if kind == 1 else f'{before} {text}'
        text = text if kind == 0 else f'{text} {after}'
        result.append((text, labels, 'joined', where))
    return result


def perturbed(found, chance):
    """Copies of examples with spelling mistakes, for examples with a label."""
    central = [row for row in found if row[2] in ('made_up', 'davidson', 'civil', 'stormfront', 'ailuminate', 'joined') and len(row[0]) < 600]
    return [(synthetic.perturb(text, chance), labels, 'perturbed', where) for text, labels, _, where in chance.sample(central, 30000)]


def choose_words(found, vectors, out, terms):
    """The vocabulary in order of id: punctuation, then words by frequency in the sets. Words of generated
    examples, terms of the lists and masked swear words are included at any frequency; words of the teacher fill
    the rest.
    """
    counts = Counter()
    made = [name in ('made_up', 'joined', 'perturbed') for name in found['name']]
    for word, count in count_words([text for text, own in zip(found['text'], made) if not own], out):
        counts[word] += count
    needed = {word for word, count in count_words([text for text, name in zip(found['text'], found['name']) if name == 'made_up'], out) if count >= 5}
    needed |= {term.lower() for kind in terms.values() for term in kind if term.isalpha() and term.isascii()}
    needed |= set(masked_words())
    for word in needed:
        counts[word] = max(counts[word], 8)
    for word in vectors:
        if word.isalpha() and word.isascii() and len(word) > 2:
            counts[word] += 2
    words = [word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])) if word not in MARKS]
    return (MARKS + words)[:WORDS]


def masked_words():
    """{masked form: swear word}: vowels or everything inside as stars."""
    found = {}
    for word in ('fuck', 'fucking', 'fucker', 'shit', 'bitch', 'cunt', 'asshole', 'nigger', 'nigga', 'faggot', 'dick', 'cock', 'pussy', 'whore', 'slut', 'rape', 'kill', 'bastard'):
        found[re.sub('[aeiouy]', '*', word)] = word
        found[re.sub('[aeiouy]', '*', word, count=1)] = word
        inside = '*' * (len(word) - 2)
        found[re.sub(r'(.)\1\1+', r'\1\1', word[0] + inside + word[-1])] = word
    return found


def count_words(texts, out):
    write_texts(texts, os.path.join(out, 'count.txt'))
    node('moderation/count.ts', os.path.join(out, 'count.txt'), os.path.join(out, 'count.json'))
    with open(os.path.join(out, 'count.json')) as file:
        return json.load(file)


def encode(texts, words, out, name):
    """The texts as the service's tokenizer encodes them: flat ids, end of each text, and the buckets of each
    word's spelling.
    """
    prefix = os.path.join(out, name)
    write_texts(texts, f'{prefix}.txt')
    with open(os.path.join(out, 'words.json'), 'w') as file:
        json.dump(words, file)
    node('moderation/encode.ts', os.path.join(out, 'words.json'), str(BUCKETS), f'{prefix}.txt', prefix)
    return {part: np.fromfile(f'{prefix}.{part}', np.int32) for part in ('ids', 'ends', 'buckets', 'spelling')}

"""Generated examples: the patterns of patterns.txt filled with the words of slots.txt and of the word lists."""
import os
import random
import re

from sources import HARASSMENT, HATE, SELF_HARM, SEXUAL, VIOLENCE

HERE = os.path.dirname(os.path.abspath(__file__))
LETTERS = {'A': HARASSMENT, 'H': HATE, 'S': SELF_HARM, 'X': SEXUAL, 'V': VIOLENCE}


def read_slots():
    """{name: alternatives} of slots.txt."""
    slots, name = {}, None
    for line in lines('slots.txt'):
        if line.startswith('@'):
            name = line[1:]
            slots[name] = []
        else:
            slots[name] += [part.strip() for part in line.split('|')]
    return slots


def read_patterns():
    """(pattern, labels) of patterns.txt in its order."""
    found, labels = [], None
    for line in lines('patterns.txt'):
        if line.startswith('= '):
            labels = [0] * 5
            for mark in line[2:].split():
                if mark != '-':
                    labels[LETTERS[mark[-1]]] = None if mark[0] == '?' else 1
        else:
            found.append((line, tuple(labels)))
    return found


def lines(name):
    with open(os.path.join(HERE, name), encoding='utf-8') as file:
        return [line.rstrip('\n') for line in file if line.strip() and not line.startswith('#')]


# Neutral phrases around a sentence, and sentence ends.
FRAMES = [('I think ', '.'), ('In my view ', '.'), ('I honestly believe that ', '.'), ("Don't you agree that ", '?'), ('Am I the only one who thinks that ', '?'),
          ('Let me tell you, ', '.'), ('Can we admit that ', '?'), ('Is it wrong to say that ', '?'), ('My view is simple: ', '.'), ('It is obvious that ', '.'),
          ('I am convinced that ', '.'), ('You have to understand that ', '.'), ("Isn't it clear that ", '?'), ('I wonder whether ', '.'), ('There, I said it: ', '!'),
          ('', ' and that is a fact.'), ('', ', if you ask me.'), ('', ", don't you think?"), ('', ', right?'), ('', '. Agree?'), ('', ', as everybody knows.')]


class Maker:
    """Fills patterns; the same seed makes the same examples."""

    def __init__(self, terms, seed):
        self.random = random.Random(seed)
        self.slots = read_slots()
        self.slots['SLUR'] = terms['slur']
        self.slots['SEXTERM'] = terms['sexual']

    def choose(self, slot):
        """A word or phrase for a slot. A group sometimes becomes "all those ..." or "... like you", which changes
        no label.
        """
        found = self.random.choice(self.slots[slot])
        if slot == 'GROUP' and ' ' not in found:
            roll = self.random.random()
            if roll < 0.12:
                found = self.random.choice(['those', 'these', 'all', 'most', 'such', 'some of those', 'the', 'our', 'many', 'you', 'all these']) + ' ' + found
            if roll > 0.88:
                found += ' ' + self.random.choice(['like you', 'like them', 'like that', 'around here', 'in this country', 'everywhere', 'these days', 'of all ages', 'today'])
        return found

    def fill(self, pattern):
        """One example of `pattern`, in one of several spellings: unchanged, without case or punctuation, in
        capitals.
        """
        text = re.sub(r'{([A-Z]+)}', lambda match: self.choose(match[1]), pattern)
        text = re.sub(r'\b([Yy]ou are|[Ii] am|[Tt]hey are) a ([aeiou])', r'\1 an \2', text)
        if self.random.random() < 0.1 and text[-1] == '.' and text.count('.') == 1 and '{GROUP}' in pattern:
            before, after = self.random.choice(FRAMES)
            text = before + text[:-1] + after
        text = text[0].upper() + text[1:]
        style = self.random.random()
        if style < 0.12:
            return text.lower()
        if style < 0.2:
            return re.sub(r"[.,!\"]", '', text).lower()
        if style < 0.24:
            return text.upper()
        if style < 0.32:
            return text.rstrip('.!') + self.random.choice(['!', '!!', '...', '', ' lol', ' smh', '?!', ' :)', ' tbh'])
        return text


def made_up(terms, seed, per_pattern, held_back):
    """
    Examples of all patterns but every tenth, or of those only (`held_back`): more of patterns that can say more.
    Returns (text, labels, 'made_up').
    """
    maker = Maker(terms, seed)
    found = []
    for number, (pattern, labels) in enumerate(read_patterns()):
        if (number * 7 % 10 == 3) != held_back:
            continue
        slots = pattern.count('{')
        times = max(3, per_pattern * min(slots, 2) // 2) if slots else 3
        for text in {maker.fill(pattern) for _ in range(times)}:
            found.append((text, own_labels(text, labels), 'made_up'))
    return found


def own_labels(text, labels):
    """Contempt for a group is harassment only when it addresses a person."""
    labels = list(labels)
    if labels[HATE] == 1 and labels[HARASSMENT] is None and not re.search(r'\b(you|your|ur|u)\b', text, re.I):
        labels[HARASSMENT] = 0
    return labels


def perturb(text, chance):
    """`text` with slips and tricks of spelling in about one word of eight: `chance` is a random.Random."""
    words = text.split(' ')
    for _ in range(max(1, len(words) // 8)):
        at = chance.randrange(len(words))
        words[at] = slip(words[at], chance)
    return ' '.join(words)


def slip(word, chance):
    if len(word) < 4:
        return word
    at = chance.randrange(1, len(word) - 1)
    kind = chance.randrange(6)
    if kind == 0:
        return word[:at] + word[at + 1:]
    if kind == 1:
        return word[:at] + word[at + 1] + word[at] + word[at + 2:]
    if kind == 2:
        return word[:at] + word[at] * chance.choice([2, 3, 5]) + word[at + 1:]
    if kind == 3:
        return word[:at] + chance.choice('abcdefghijklmnopqrstuvwxyz') + word[at + 1:]
    if kind == 4:
        return word[:at] + '*' + word[at + 1:]
    return word.translate(str.maketrans('aeiost', '431057'))

"""Evasions of filters. Each takes a text and a random.Random."""
LOOKALIKES = {'a': 'а', 'c': 'с', 'e': 'е', 'i': 'і', 'o': 'о', 'p': 'р', 's': 'ѕ', 'x': 'х', 'y': 'у', 'k': 'к', 'm': 'м', 't': 'т'}
LEET = {'a': '4', 'e': '3', 'i': '1', 'o': '0', 's': '5', 't': '7'}


def words(change):
    """Disguises every word of four letters or more."""
    def disguise(text, chance):
        return ' '.join(change(word, chance) if sum(map(str.isalpha, word)) > 3 else word for word in text.split(' '))
    return disguise


def between(joint):
    """Letters joined by `joint`; punctuation after the word stays in place."""
    def change(word, chance):
        end = len(word)
        while end and not word[end - 1].isalnum():
            end -= 1
        return joint.join(word[:end]) + word[end:]
    return change


def swapped(word, chance):
    at = chance.randrange(1, len(word) - 2)
    return word[:at] + word[at + 1] + word[at] + word[at + 2:]


def one_in(share, change):
    return lambda word, chance: change(word, chance) if chance.random() < share else word


DISGUISES = {
    'capitals': lambda text, chance: text.upper(),
    'mixed case': lambda text, chance: ''.join(c.upper() if i % 2 else c.lower() for i, c in enumerate(text)),
    'leetspeak': words(lambda word, chance: ''.join(LEET.get(c.lower(), c) for c in word)),
    'letters apart': words(between(' ')),
    'dots between letters': words(between('.')),
    'hyphens between letters': words(between('-')),
    'no spaces': lambda text, chance: text.replace(' ', ''),
    'repeated letters': words(lambda word, chance: word[:2] + word[1] * 3 + word[2:]),
    'zero-width spaces': words(between('\u200b')),
    'soft hyphens': words(between('\u00ad')),
    'Cyrillic lookalikes': lambda text, chance: ''.join(LOOKALIKES.get(c, c) for c in text.lower()),
    'full width': lambda text, chance: ''.join(chr(ord(c) + 0xfee0) if '!' <= c <= '~' else c for c in text),
    'mathematical bold': lambda text, chance: ''.join(chr(0x1d41a + ord(c) - 97) if 'a' <= c <= 'z' else c for c in text.lower()),
    'combining marks': lambda text, chance: ''.join(c + '\u0336' if c.isalpha() else c for c in text),
    'swapped letters in half the words': words(one_in(0.5, swapped)),
    'missing letter in half the words': words(one_in(0.5, lambda word, chance: word[:2] + word[3:])),
}

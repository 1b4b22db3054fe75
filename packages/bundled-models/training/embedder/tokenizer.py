"""Text to rows of the token table. The card of the model states these rules; the service's engine follows them to the letter.

A text becomes words. A word of ASCII letters and digits becomes the longest pieces of the vocabulary (WordPiece), and, when
it takes more than one, also one hashed row for the whole word. Any other word becomes hashed rows alone, so that no text
in any script is without a vector.
"""
import re
import sys
import unicodedata

BUCKETS = 8192
# Scripts that are written without spaces: their characters and pairs of characters stand for words.
UNSPACED = [(0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x2E80, 0x2FDF), (0x3005, 0x3007), (0x3040, 0x30FF),
            (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF)]
SPACED_POINTS_PER_TOKEN = 4


def character_class(kinds):
    """The inside of a regular expression's brackets for all code points whose general category starts with one of `kinds`."""
    parts, start = [], None
    for point in range(sys.maxunicode + 2):
        inside = point <= sys.maxunicode and unicodedata.category(chr(point)).startswith(kinds)
        if inside and start is None:
            start = point
        elif not inside and start is not None:
            parts.append(f'\\U{start:08x}-\\U{point - 1:08x}')
            start = None
    return ''.join(parts)


WORD_CLASS = character_class(('L', 'N', 'M'))
EMPTY_CLASS = character_class(('C', 'Z'))
UNSPACED_CLASS = ''.join(f'\\U{a:08x}-\\U{b:08x}' for a, b in UNSPACED)
CAMEL = re.compile('([a-z])([A-Z])')
MARKS = re.compile('[\u0300-\u036f]')
# A run of unspaced characters, a run of other word characters, or one character beyond ASCII that is neither space nor control.
WORDS = re.compile(f'[{UNSPACED_CLASS}]+|(?:(?![{UNSPACED_CLASS}])[{WORD_CLASS}])+|[^\\x00-\\x7f{EMPTY_CLASS}]')
ASCII_WORDS = re.compile('[a-z0-9]+')
ANYTHING = re.compile(f'[^{EMPTY_CLASS}]')
UNSPACED_WORD = re.compile(f'[{UNSPACED_CLASS}]+')


def normalise(text):
    """Camel case cut open, compatibility forms folded, lower case, accents off."""
    text = CAMEL.sub(r'\1 \2', text)
    if text.isascii():
        return text.lower()
    text = MARKS.sub('', unicodedata.normalize('NFKD', text).lower())
    return unicodedata.normalize('NFKC', text)


def fnv1a(text):
    """32-bit FNV-1a over the UTF-8 bytes; a lone surrogate counts as U+FFFD."""
    value = 0x811C9DC5
    for byte in text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace').encode('utf-8'):
        value = ((value ^ byte) * 0x01000193) & 0xFFFFFFFF
    return value


class Tokenizer:
    """Rows 0..len(pieces)-1 are the pieces, the BUCKETS rows behind them are the hashed ones."""

    def __init__(self, pieces):
        self.pieces = list(pieces)
        self.index = {piece: i for i, piece in enumerate(self.pieces)}
        self.longest = max(len(piece) for piece in self.pieces)
        self.cache = {}

    @property
    def rows(self):
        return len(self.pieces) + BUCKETS

    def bucket(self, text):
        return len(self.pieces) + fnv1a(text) % BUCKETS

    def wordpieces(self, word):
        """Longest pieces first; every ASCII letter and digit is itself a piece, so this never fails."""
        found, start = [], 0
        while start < len(word):
            prefix = '##' if start else ''
            end = min(len(word), start + self.longest - len(prefix))
            while end > start + 1 and prefix + word[start:end] not in self.index:
                end -= 1
            found.append(self.index[prefix + word[start:end]])
            start = end
        return found

    def word(self, word):
        """(rows, number of tokens that it counts as)."""
        known = self.cache.get(word)
        if known is not None:
            return known
        if word.isascii() and word.isalnum():
            pieces = self.wordpieces(word)
            rows, count = pieces + ([self.bucket('=' + word)] if len(pieces) > 1 else []), len(pieces)
        elif UNSPACED_WORD.fullmatch(word):
            rows = [self.bucket(c) for c in word] + [self.bucket(word[i:i + 2]) for i in range(len(word) - 1)]
            count = len(word)
        else:
            around = f'<{word}>'
            rows = [self.bucket('=' + word)] + [self.bucket(around[i:i + 3]) for i in range(len(word))]
            count = -(-len(word) // SPACED_POINTS_PER_TOKEN)
        if len(word) < 32 and len(self.cache) < 2_000_000:
            self.cache[word] = rows, count
        return rows, count

    def words(self, text):
        """A text's words in order. A text of nothing but ASCII signs gives its signs, a blank one the empty word."""
        text = normalise(text)
        # The short way finds the same words in ASCII text, many times faster.
        return (ASCII_WORDS if text.isascii() else WORDS).findall(text) or ANYTHING.findall(text) or ['']

    def rows_of(self, text):
        return [row for word in self.words(text) for row in self.word(word)[0]]

    def count(self, text):
        """Tokens of a text, for limits and usage: never 0."""
        return max(1, sum(self.word(word)[1] for word in self.words(text)))

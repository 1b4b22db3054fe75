"""The tokenizer: byte-pair encoding with byte fallback, in the form that llama.cpp calls SPM.

Every word piece exists without a leading space, and the frequent ones a second time with it ("Paris" and "▁Paris").
Pieces with the space have the lowest scores, so a space joins its word only after the word is split. A word is
therefore cut the same way after a space, a quote or a marker, and copying a name from a sentence into JSON changes
one token at most. No space is put before the text: decoding gives back exactly what was encoded.
"""
import json
import re

SPACE = '\u2581'
UNKNOWN, BEGIN, END = '<unk>', '<s>', '<|end|>'
# Only the template writes role markers: type "control", so a prompt's text cannot forge a turn when the engine
# tokenizes content without special tokens. Passage and call markers are "user defined": they survive in plain text.
# (Not "<|call|>": llama.cpp takes a token of that name for an end of turn, as gpt-oss has it.)
CONTROL = [BEGIN, END, '<|system|>', '<|user|>', '<|assistant|>', '<|tool|>']
USER_DEFINED = ['<|tool_call|>', '<|doc|>', '<|mark|>']
SPECIAL = CONTROL + USER_DEFINED
SPECIAL_SPLIT = re.compile('(' + '|'.join(re.escape(s) for s in SPECIAL) + ')')
FIRST_MERGED = 1 + len(SPECIAL) + 256


class Tokenizer:
    """Encodes text to ids and back. `pieces` are all tokens in id order; later merges have lower scores."""

    def __init__(self, pieces):
        self.pieces = pieces
        self.ids = {piece: i for i, piece in enumerate(pieces)}
        self.first_byte = 1 + len(SPECIAL)
        self.cache = {}

    @property
    def end(self):
        return self.ids[END]

    def encode(self, text, special=True):
        """Token ids of `text`. Marker strings become their tokens unless `special` is false."""
        ids = []
        for part in SPECIAL_SPLIT.split(text) if special else [text]:
            if special and part in self.ids and part in SPECIAL:
                ids.append(self.ids[part])
                continue
            # No piece has a space after its first character, so splitting before each space changes nothing.
            for word in re.findall(f'{SPACE}?[^{SPACE}]+|{SPACE}', part.replace(' ', SPACE)):
                if word not in self.cache:
                    self.cache[word] = self._merge(word)
                ids.extend(self.cache[word])
        return ids

    def decode(self, ids, special=False):
        out = bytearray()
        for i in ids:
            if self.first_byte <= i < FIRST_MERGED:
                out.append(i - self.first_byte)
            elif i >= FIRST_MERGED or special:
                out += self.pieces[i].replace(SPACE, ' ').encode()
        return out.decode('utf-8', 'replace')

    def _merge(self, word):
        """Joins the best-scored neighbouring pair (leftmost on ties) until none is a piece: llama.cpp's rule."""
        parts = list(word)
        while len(parts) > 1:
            best = min(range(len(parts) - 1), key=lambda i: (self._rank(parts[i] + parts[i + 1]), i))
            if self._rank(parts[best] + parts[best + 1]) == float('inf'):
                break
            parts[best:best + 2] = [parts[best] + parts[best + 1]]
        ids = []
        for part in parts:
            ids += [self.ids[part]] if self._rank(part) < float('inf') else [self.first_byte + b for b in part.encode()]
        return ids

    def _rank(self, piece):
        i = self.ids.get(piece, -1)
        return i if i >= FIRST_MERGED else float('inf')

    def save(self, path):
        with open(path, 'w', encoding='utf-8') as file:
            json.dump(self.pieces, file, ensure_ascii=False, indent=0)

    @staticmethod
    def load(path):
        with open(path, encoding='utf-8') as file:
            return Tokenizer(json.load(file))

"""BM25 as LanceDB's English full-text index computes it: simple tokenizer, lower case, ASCII folding, stop words, stemming."""
import collections
import math
import re
import unicodedata

import numpy as np
import snowballstemmer

K1, B = 1.2, 0.75
LONGEST_TERM = 40
STOP_WORDS = set('a an and are as at be but by for if in into is it no not of on or such that the their then there these '
                 'they this to was will with'.split())
STEMMER = snowballstemmer.stemmer('english')
STEMS = {}


def terms(text):
    """Stemmed terms of a text, in order, without stop words."""
    folded = unicodedata.normalize('NFKD', text.lower())
    words = re.findall(r'[^\W_]+', ''.join(c for c in folded if not unicodedata.combining(c)))
    found = []
    for word in words:
        if word in STOP_WORDS or len(word) > LONGEST_TERM:
            continue
        stem = STEMS.get(word)
        if stem is None:
            stem = STEMS[word] = STEMMER.stemWord(word)
        found.append(stem)
    return found


class BM25:
    """An inverted index of texts; `scores` gives one float32 for each of them."""

    def __init__(self, texts):
        lists, lengths = collections.defaultdict(lambda: ([], [])), []
        for i, text in enumerate(texts):
            counts = collections.Counter(terms(text))
            lengths.append(sum(counts.values()))
            for term, count in counts.items():
                lists[term][0].append(i)
                lists[term][1].append(count)
        lengths = np.asarray(lengths, np.float32)
        norms = K1 * (1 - B + B * lengths / max(1e-9, lengths.mean()))
        self.size, self.postings = len(lengths), {}
        for term, (rows, counts) in lists.items():
            rows, counts = np.asarray(rows), np.asarray(counts, np.float32)
            idf = math.log(1 + (self.size - len(rows) + 0.5) / (len(rows) + 0.5))
            self.postings[term] = rows, (idf * counts * (K1 + 1) / (counts + norms[rows])).astype(np.float32)

    def scores(self, query):
        total = np.zeros(self.size, np.float32)
        for term, count in collections.Counter(terms(query)).items():
            if term in self.postings:
                rows, gains = self.postings[term]
                total[rows] += count * gains
        return total

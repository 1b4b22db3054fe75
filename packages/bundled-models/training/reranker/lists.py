"""Lists to train on: a query and documents, the right one first.

    python3 lists.py DATA OUT quire-embed-1.bin

Writes OUT/texts.jsonl (to count words in) and OUT/train.jsonl: {source, query, documents}.
"""
import json
import os
import random
import sys
import time

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, '..'))
sys.path.insert(0, os.path.join(HERE, '..', 'embedder'))

import sources  # noqa: E402  (the folders beside are no packages)
import runtime  # noqa: E402
from bm25 import BM25  # noqa: E402

sys.path.insert(0, os.path.join(HERE, '..', 'chat'))
sys.modules.pop('sources')
import sources as chat_sources  # noqa: E402

# Lists of each source of documents, and characters of a document.
DOCUMENT_LISTS = {'oss_docs': 900, 'opensearch_docs': 600, 'medquad': 600, 'reading': 700, 'neighbours': 1300, 'tldr': 300,
                  'python': 700, 'answers': 400, 'wordnet_examples': 150}
LONGEST = 1300
POOL = 6000
SQUAD_LISTS = 15000
# Wrong documents of a list: from the best, from further down, and any.
BEST, FURTHER, ANY = 6, 5, 3
CANDIDATES = 100


def wrong_of(scores, right, draw):
    """Shuffled rows of irrelevant documents; None when the search does not return the relevant one."""
    ranked = np.argsort(-scores, kind='stable')
    if int(np.flatnonzero(ranked == right)[0]) >= CANDIDATES:
        return None
    others = [int(d) for d in ranked if d != right]
    best = draw.sample(others[:12], BEST)
    further = draw.sample(others[12:CANDIDATES], FURTHER)
    return best + further + draw.sample(others[CANDIDATES:], ANY)


def document_lists(name, pairs, model, draw):
    """Lists of one source of pairs: queries and passages."""
    pairs = [(a, b[:LONGEST]) for a, b in pairs]
    texts = list(dict.fromkeys(b for _, b in pairs))
    draw.shuffle(texts)
    texts = texts[:POOL]
    place = {text: i for i, text in enumerate(texts)}
    asked = [p for p in pairs if p[1] in place]
    asked = draw.sample(asked, min(len(asked), DOCUMENT_LISTS[name]))
    index = BM25(texts)
    cosine = runtime.embed([a for a, _ in asked], model) @ runtime.embed(texts, model).T
    for row, (query, right) in enumerate(asked):
        keyword = index.scores(query)
        wrong = wrong_of(0.2 * np.maximum(0, cosine[row]) + 0.8 * keyword / (keyword + 30), place[right], draw)
        if wrong is not None:
            yield {'source': name, 'query': query, 'documents': [right] + [texts[i] for i in wrong]}


def sentence_lists(pairs, draw):
    """Lists of questions and the sentences that answer them; the others are the most similar by BM25, neighbours,
    and random ones.
    """
    texts = list(dict.fromkeys(b for _, b in pairs))
    place, index = {text: i for i, text in enumerate(texts)}, BM25(texts)
    for at in sorted(draw.sample(range(len(pairs)), min(len(pairs), SQUAD_LISTS))):
        query, right = pairs[at]
        scores = index.scores(query)
        scores[place[right]] = -1
        nearest = [int(d) for d in np.argsort(-scores, kind='stable')[:30]]
        wrong = nearest[:8] + draw.sample(nearest[8:], 4)
        around = [place[right] + step for step in (-2, -1, 1, 2)]
        wrong += [i for i in around if 0 <= i < len(texts) and i not in wrong]
        wrong += draw.sample(range(len(texts)), 2)
        yield {'source': 'squad', 'query': query, 'documents': [right] + [texts[i] for i in wrong if i != place[right]]}


def passage_lists(data, draw):
    """The same with the other sentences of the passage, for sets with whole passages."""
    found = chat_sources.passages(data)
    everything = [s for _, sentences, _ in found for s in sentences]
    for question, sentences, at in found:
        wrong = [s for i, s in enumerate(sentences) if i != at]
        if len(wrong) >= 2:
            wrong = wrong[:14] + draw.sample(everything, 2)
            yield {'source': 'passages', 'query': question, 'documents': [sentences[at]] + wrong}


def write(path, lists):
    began = time.time()
    with open(path, 'w', encoding='utf-8') as file:
        for one in lists:
            file.write(json.dumps(one) + '\n')
    print(path, f'{time.time() - began:.0f} s', flush=True)


def main():
    data, out, path = sys.argv[1:]
    os.makedirs(out, exist_ok=True)
    pairs = sources.all_pairs(data)
    train, _ = chat_sources.question_pairs(data)
    write(f'{out}/texts.jsonl', (t[:LONGEST] for t in dict.fromkeys(
        [b for name in DOCUMENT_LISTS if name != 'neighbours' for _, b in pairs[name]] + sources.passages(data) + [b for _, b in train])))

    def training():
        # Each source has its own random generator, so that a change of one does not affect the others.
        yield from sentence_lists(train, random.Random('squad'))
        yield from passage_lists(data, random.Random('passages'))
        for name in DOCUMENT_LISTS:
            yield from document_lists(name, pairs[name], path, random.Random(name))

    write(f'{out}/train.jsonl', training())


if __name__ == '__main__':
    main()

"""Makes the moderation model from the data folder. `npm run eval:moderation` of the repository measures it.

    NODE=node24 python3 make.py DATA [--out OUT] [--epochs 5]
"""
import argparse
import json
import os
import sys

import numpy as np
import torch

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))

import examples  # noqa: E402
import sources  # noqa: E402
import vectors  # noqa: E402
from calibrate import LENGTH_SLOPES, calibrate  # noqa: E402
from export import export  # noqa: E402
from net import Net  # noqa: E402
from runtime import node, write_texts  # noqa: E402
from train import Corpus, train  # noqa: E402

SEED = 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('data', help='folder with the data sets')
    parser.add_argument('--out', default='out', help='scratch folder; the weights end up here as quire-moderation-1.bin')
    parser.add_argument('--epochs', type=int, default=5)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    found = examples.gather(args.data, args.out, SEED)
    corpus, words, net = prepare(args, found)
    train(net, corpus, SEED, args.epochs, log=lambda line: print(line, flush=True))
    path = os.path.join(args.out, 'quire-moderation-1.bin')
    export(net, words, path, np.ones(5), np.zeros(5))
    held = np.flatnonzero((corpus.part == 1) & (corpus.lengths > 0))
    logits = classify(path, [found['text'][number] for number in held], args.out)
    slope, offset = calibrate(logits, corpus.labels[held], corpus.names[held])
    length_slope = [LENGTH_SLOPES.get(category, 0) for category in sources.CATEGORIES]
    export(net, words, path, slope, offset, length_slope)
    print(f'{path}: {os.path.getsize(path)} bytes; slopes {np.round(slope, 3)}, offsets {np.round(offset, 3)}')


def classify(model, texts, scratch):
    """(n, 5) logits of texts, by the service's reader."""
    path = os.path.join(scratch, 'texts.txt')
    write_texts(texts, path)
    return np.array([json.loads(line) for line in node('moderation/logits.ts', model, path).splitlines()])


def prepare(args, found):
    """The encoded corpus, the vocabulary, and the network as it starts."""
    pieces = vectors.read_vectors(args.data)
    words = examples.choose_words(found, pieces, args.out, sources.term_lists(args.data))
    encoded = examples.encode(found['text'], words, args.out, 'train')
    table = vectors.first_words(words, pieces, SEED, examples.masked_words())
    buckets = vectors.first_buckets(words, table, encoded, examples.BUCKETS, SEED)
    torch.manual_seed(SEED)
    return Corpus(found, encoded), words, Net(table, buckets)


if __name__ == '__main__':
    main()

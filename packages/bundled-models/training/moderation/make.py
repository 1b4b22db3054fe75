"""Makes the moderation model from the data folder and prints the figures of its card.

    NODE=node24 python3 make.py DATA [--out OUT] [--epochs 5]
"""
import argparse
import os
import subprocess
import sys

import numpy as np
import torch

import examples
import sources
import vectors
from calibrate import LENGTH_SLOPES, calibrate
from evaluate import judge_logits as judge
from export import export
from net import Net
from train import Corpus, train

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
    logits = judge(path, [found['text'][number] for number in held], args.out)
    slope, offset = calibrate(logits, corpus.labels[held], corpus.names[held])
    length_slope = [LENGTH_SLOPES.get(category, 0) for category in sources.CATEGORIES]
    export(net, words, path, slope, offset, length_slope)
    print(f'{path}: {os.path.getsize(path)} bytes; slopes {np.round(slope, 3)}, offsets {np.round(offset, 3)}')
    subprocess.run([sys.executable, os.path.join(examples.HERE, 'evaluate.py'), args.data, path, args.out], check=True)


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

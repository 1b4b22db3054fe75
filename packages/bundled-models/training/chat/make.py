"""Makes the chat model: first weights, training, export. Run again after an interruption to continue.

    python3 make.py --data DATA --out OUT --gguf-py LLAMA_CPP/gguf-py --start quire-chat-1.gguf [--minutes 80]
"""
import argparse
import os
import pickle

import export
import start
from model import Config
from tasks import Corpora
from train import load_model, train

LAYERS, HIDDEN, COPIED_LAYERS = 6, 768, (2, 3)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--data', required=True, help='folder with the data sets')
    parser.add_argument('--start', required=True, help='quire-chat-1.gguf, whose weights and tokenizer the run starts from')
    parser.add_argument('--out', required=True, help='scratch folder for checkpoints and weights')
    parser.add_argument('--gguf-py', required=True, help='gguf-py folder of a llama.cpp checkout')
    parser.add_argument('--minutes', type=float, default=80, help='wall clock of training')
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    corpora, tokens = prepare(args.data, args.out, args.start, args.gguf_py)
    model = start.grow(start.read_model(args.start, args.gguf_py), LAYERS, HIDDEN, COPIED_LAYERS)
    train(model, corpora, tokens, args.out, args.minutes)
    model = load_model(args.out, config())
    for kind in ('F32', 'Q8_0'):
        export.export(model, tokens, os.path.join(args.out, f'quire-chat-2.{kind}.gguf'), kind, args.gguf_py)


def config():
    """The trained model's sizes."""
    return Config(layers=LAYERS, hidden=HIDDEN)


def prepare(data, out, first, gguf_py):
    """The corpora and the tokenizer; stored in `out` for resumed runs and for the checks."""
    cached = os.path.join(out, 'corpora.pickle')
    if os.path.exists(cached):
        with open(cached, 'rb') as file:
            corpora = pickle.load(file)
    else:
        corpora = Corpora(data)
        with open(cached, 'wb') as file:
            pickle.dump(corpora, file)
    tokens = start.read_tokenizer(first, gguf_py)
    tokens.save(os.path.join(out, 'tokenizer.json'))
    return corpora, tokens


if __name__ == '__main__':
    main()

"""Makes the chat model: tokenizer, training, export. Run again after an interruption to continue.

    python3 make.py --data DATA --out OUT --gguf-py LLAMA_CPP/gguf-py [--minutes 90]
"""
import argparse
import os
import pickle

import export
import tokenizer
from make_tokenizer import make_tokenizer
from tasks import Corpora
from train import load_model, train


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--data', required=True, help='folder with the data sets')
    parser.add_argument('--out', required=True, help='scratch folder for the tokenizer, checkpoints and weights')
    parser.add_argument('--gguf-py', required=True, help='gguf-py folder of a llama.cpp checkout')
    parser.add_argument('--minutes', type=float, default=90, help='wall clock of training')
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    corpora, tokens = prepare(args.data, args.out)
    train(corpora, tokens, args.out, args.minutes)
    model = load_model(args.out, tokens)
    for kind in ('F32', 'Q8_0'):
        export.export(model, tokens, os.path.join(args.out, f'quire-chat-1.{kind}.gguf'), kind, args.gguf_py)


def prepare(data, out):
    """The corpora and the tokenizer, read from `out` where a run before left them."""
    cached, pieces = os.path.join(out, 'corpora.pickle'), os.path.join(out, 'tokenizer.json')
    if os.path.exists(cached):
        with open(cached, 'rb') as file:
            corpora = pickle.load(file)
    else:
        corpora = Corpora(data)
        with open(cached, 'wb') as file:
            pickle.dump(corpora, file)
    if not os.path.exists(pieces):
        make_tokenizer(corpora, pieces)
    return corpora, tokenizer.Tokenizer.load(pieces)


if __name__ == '__main__':
    main()

"""Checks that llama.cpp reads the export as PyTorch meant it: token ids, logits, the cost of quantising, speed.

    python3 check_export.py --out OUT --probe LLAMA_PROBE --backends FOLDER
"""
import argparse
import os
import pickle
import random
import subprocess

import numpy
import torch

import batches
import tasks
import tokenizer
from model import causal_mask
from make import config
from train import load_model

TRICKY = [
    'Hello', ' Hello', '  two  spaces  ', '\n', 'a\n\nb\n', '\t tab', 'naïve café Zürich', '日本語 テキスト', '😀 👩‍👩‍👧 e\u0301', '1234.5678',
    "don't won't it's 'quoted' 'star", '{"name": "get_weather", "arguments": {"city": "Paris", "n": -3.5}}', '', ' ', '   ',
    '<|user|>hi<|end|><|assistant|>', 'x<|tool_call|>{"a":1}<|doc|> b<|mark|>c', '<|nope|> <| end |>', 'https://a.b/c?d=e&f=%20',
    'snake_case CamelCase kebab-case', '__init__ ___', '...!!!???', '\u2581 literal', 'ﬁ ½ Ⅷ', '\u200bzero\u00a0width', 'ALL CAPS TEXT',
    'Привет мир', 'مرحبا', 'def f(x):\n    return x ** 2\n', 'a' * 300, '\x00\x01\x7f']
RANDOM_TEXTS = 300
HELD_CONVERSATIONS = 40
LOGIT_TOLERANCE, PERPLEXITY_TOLERANCE = 1e-3, 0.01


class Probe:
    """Runs a GGUF in llama.cpp through llama_probe.cpp."""

    def __init__(self, probe, backends):
        self.command = [probe, backends]

    def run(self, model, mode, lines):
        text = '\n'.join(lines) + '\n'
        return subprocess.run(self.command + [model, mode], input=text.encode(), stdout=subprocess.PIPE, check=True).stdout


def held_conversations(corpora, encoder, count, seed=99):
    """Conversations from held-out questions and development dialogues: [(ids, loss)] of at most 1,024 tokens."""
    drawn, r, found = tasks.Tasks(corpora, seed), random.Random(seed), []
    for i in range(count):
        if i % 2:
            dialogue = tasks.ground(r.choice(corpora.held_dialogues))
            example = dialogue or drawn.draw('made_up_tool')
        else:
            example = drawn.marked(r.choice(corpora.held_pairs))
        ids, loss = encoder.encode(example)
        found.append((ids[:1024], loss[:1024]))
    return found


def logits_of(model, ids):
    with torch.no_grad():
        row = torch.tensor([ids])
        return model.logits(model.hidden(row, torch.arange(len(ids))[None], causal_mask(torch.zeros_like(row))))[0].numpy()


def perplexity(rows, held):
    """Computed over the tokens of the assistant."""
    total, count = 0.0, 0
    for logits, (ids, loss) in zip(rows, held):
        logits = logits.astype(numpy.float64)
        top = logits.max(-1)
        normal = numpy.log(numpy.exp(logits - top[:, None]).sum(-1)) + top
        for i in range(len(ids) - 1):
            if loss[i + 1]:
                total += normal[i] - logits[i, ids[i + 1]]
                count += 1
    return float(numpy.exp(total / count))


def same_tokens(probe, model, tokens, corpora):
    r, texts = random.Random(4), list(TRICKY)
    for _ in range(RANDOM_TEXTS):
        texts.append(r.choice(corpora.prose))
        texts.append(''.join(r.choice('ab AB 12\'"{}_-.,:é€\n') for _ in range(r.randint(1, 60))))
    answers = probe.run(model, 'tokens', [t.encode().hex() for t in texts]).decode().split('\n')
    wrong = [t for t, a in zip(texts, answers) if [int(i) for i in a.split()] != tokens.encode(t)]
    print(f'tokenization: {len(texts)} texts, {len(wrong)} differ {wrong[:3] or ""}')
    return not wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--out', required=True, help="make.py's folder")
    parser.add_argument('--probe', required=True, help='llama_probe.cpp, built')
    parser.add_argument('--backends', default='-', help="folder of llama.cpp's CPU backends")
    args = parser.parse_args()
    with open(os.path.join(args.out, 'corpora.pickle'), 'rb') as file:
        corpora = pickle.load(file)
    tokens = tokenizer.Tokenizer.load(os.path.join(args.out, 'tokenizer.json'))
    model, probe = load_model(args.out, config()), Probe(args.probe, args.backends)
    exact, shipped = (os.path.join(args.out, f'quire-chat-2.{k}.gguf') for k in ('F32', 'Q8_0'))
    good = same_tokens(probe, exact, tokens, corpora) and same_tokens(probe, shipped, tokens, corpora)
    held = held_conversations(corpora, batches.Encoder(tokens), HELD_CONVERSATIONS)
    lines = [' '.join(map(str, ids)) for ids, _ in held]
    rows = {}
    for kind, path in (('F32', exact), ('Q8_0', shipped)):
        flat = numpy.frombuffer(probe.run(path, 'logits', lines), numpy.float32).reshape(-1, len(tokens.pieces))
        rows[kind] = numpy.split(flat, numpy.cumsum([len(ids) for ids, _ in held])[:-1])
    rows['PyTorch'] = [logits_of(model, ids) for ids, _ in held]
    gap = max(abs(a - b).max() for a, b in zip(rows['PyTorch'], rows['F32']))
    values = {kind: perplexity(r, held) for kind, r in rows.items()}
    print(f'largest logit difference of PyTorch and llama.cpp F32: {gap:.2e}')
    print('perplexity of held-back answers: ' + ', '.join(f'{k} {v:.4f}' for k, v in values.items()))
    prompt, step = probe.run(shipped, 'speed', [lines[0]] * 3).decode().split('\n')[2].split()
    print(f'Q8_0, one thread: reads {prompt} tokens/s, writes {step} tokens/s; file {os.path.getsize(shipped)} bytes')
    good = good and gap < LOGIT_TOLERANCE and values['Q8_0'] / values['F32'] - 1 < PERPLEXITY_TOLERANCE
    raise SystemExit(0 if good else 1)


if __name__ == '__main__':
    main()

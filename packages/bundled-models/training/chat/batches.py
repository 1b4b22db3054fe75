"""Conversations to token rows: rendered by the shipped chat template, encoded, packed, placed at positions."""
import json
import os
import random

import jinja2
import torch

# The template that the service renders with. Training has no documents, which it renders beside the mark.
TEMPLATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), '../../src/chat/chat-template.jinja')


def load_template():
    with open(TEMPLATE, encoding='utf-8') as file:
        return file.read()


class Encoder:
    """Turns a task's output into (ids, loss), `loss` 1 where the model speaks."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer
        environment = jinja2.Environment()
        # Jinja's own tojson escapes for HTML; llama.cpp's and the JavaScript engines' do not.
        environment.filters['tojson'] = lambda value: json.dumps(value, ensure_ascii=False)
        self.template = environment.from_string(load_template())

    def prompt(self, messages, tools=None):
        """Ids of a prompt that ends at the start of the assistant's turn."""
        return self.tokenizer.encode(self.template.render(messages=messages, tools=tools, add_generation_prompt=True))

    def render(self, example):
        return self.template.render(messages=example['messages'], tools=example.get('tools'))

    def encode(self, example):
        ids_of = self.tokenizer.ids
        end, speaker = ids_of['<|end|>'], ids_of['<|assistant|>']
        if 'drill' in example:
            ids = [ids_of['<|system|>']]
            for i, part in enumerate(example['drill']):
                ids += [ids_of['<|mark|>' if i == example['chosen'] else '<|doc|>']] + part
            ids += [end, speaker] + example['drill'][example['chosen']] + [end]
        elif 'text' in example:
            ids = self.tokenizer.encode(''.join('<|doc|>' + t for t in example['text'])) + [end]
            return ids, [0] + [1] * (len(ids) - 1)
        else:
            ids = self.tokenizer.encode(self.render(example))
        # Assistant messages whose indices are in `quiet` are context without loss.
        loss, speaking, quiet, answer = [], False, example.get('quiet', ()), -1
        for i in ids:
            loss.append(int(speaking and answer not in quiet))
            answer += i == speaker
            speaking = (speaking or i == speaker) and i != end
        return ids, loss


def pack(examples, rows, length, filled=None):
    """First-fit packing, longest first, into the space that `filled` rows leave. Returns (rows of examples,
    remaining examples).
    """
    filled = filled or [[] for _ in range(rows)]
    used, left = [sum(len(e[0]) for e in row) for row in filled], []
    for example in sorted(examples, key=lambda e: -len(e[0])):
        for row in range(rows):
            if used[row] + len(example[0]) <= length:
                filled[row].append(example)
                used[row] += len(example[0])
                break
        else:
            left.append(example)
    return filled, left


def spread(count, context, r):
    """Positions of one example: mostly 0, 1, 2...; sometimes with gaps, so that a short row teaches long distances."""
    if r.random() < 0.65 or count < 8:
        return list(range(count))
    cuts = sorted(r.sample(range(1, count), r.choice((1, 1, 2))))
    room = int((context - count) * r.random() ** 2)
    gaps, position, positions = [r.random() for _ in cuts], 0, []
    for i in range(count):
        if cuts and i == cuts[0]:
            cuts.pop(0)
            position += int(room * gaps[len(cuts)] / sum(gaps))
        positions.append(position)
        position += 1
    return positions


def tensors(filled, length, context, seed=None):
    """Packed rows as tensors: ids, positions, segments (rows, length), flat loss positions and their targets."""
    r = random.Random(seed)
    shape = (len(filled), length)
    ids, positions = torch.zeros(shape, dtype=torch.long), torch.zeros(shape, dtype=torch.long)
    segments, wanted = torch.full(shape, -1), torch.zeros(shape, dtype=torch.bool)
    for row, examples in enumerate(filled):
        at = 0
        for number, (tokens, loss) in enumerate(examples):
            here = slice(at, at + len(tokens))
            ids[row, here], segments[row, here] = torch.tensor(tokens), number
            positions[row, here] = torch.tensor(spread(len(tokens), context, r) if seed is not None else range(len(tokens)))
            wanted[row, at:at + len(tokens) - 1] = torch.tensor(loss[1:], dtype=torch.bool)
            at += len(tokens)
    chosen = wanted.flatten().nonzero().flatten()
    return ids, positions, segments, chosen, ids.flatten()[chosen + 1]

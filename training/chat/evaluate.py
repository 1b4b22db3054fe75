"""Measures the shipped file in llama.cpp, greedy and without a grammar, on what training never saw.

    python3 evaluate.py --data DATA --out OUT --probe LLAMA_PROBE --backends FOLDER
"""
import argparse
import collections
import gzip
import json
import os
import pickle
import random
import re

import batches
import synthetic
import tasks
import tokenizer
from check_export import Probe

LIMIT = 160
OPEN_PROMPTS = ['Tell me a story about a dog.', 'Write a short text about the sea.', 'How do I make tea?', 'Explain what a computer is.',
                'Tell me about London.', 'Give me some advice for a job interview.', 'What should I cook tonight?',
                'Write an email to my boss.', 'Why is the sky blue?', 'How can I learn a language?', 'Describe a forest.',
                'What are the benefits of sport?', 'Write a poem about winter.', 'What is love?', 'How does a car engine work?',
                'Tell me something interesting.', 'What makes a good friend?', 'Give me three tips for sleeping well.']
TALK = {'greeting': (['Hi', 'Hello!', 'hey there', 'Good morning', 'hello, how are you?', 'Hi Quire!', 'Hey!!', 'good evening to you'],
                     r'^(Hello|Hi|I am doing well|Good)'),
        'identity': (['Who are you?', 'what is your name?', 'are you a human?', 'Are you GPT-4?', 'who made you', 'what are you exactly?'],
                     r'(model|Quire)'),
        'thanks': (['thanks', 'Thank you so much!', 'ok thank you', 'thanks for the help'], r"(welcome|glad|pleasure|help)"),
        'goodbye': (['bye', 'Goodbye!', 'see you tomorrow', 'good night'], r'(bye|day|later|night|Bye)')}


class Speaker:
    """Continues prompts in llama.cpp."""

    def __init__(self, probe, model, tokens):
        self.probe, self.model, self.tokens = probe, model, tokens
        self.ended = collections.Counter()

    def say(self, prompts, limit=LIMIT):
        """The answers' text, call marker shown, end of turn left off."""
        lines = [' '.join(map(str, [limit] + ids)) for ids in prompts]
        answers = []
        for line in self.probe.run(self.model, 'generate', lines).decode().split('\n')[:len(prompts)]:
            ids = [int(i) for i in line.split()]
            self.ended[bool(ids) and ids[-1] == self.tokens.end] += 1
            answers.append(self.tokens.decode([i for i in ids if i != self.tokens.end], special=True))
        return answers


def share(hits, total):
    return f'{hits / total:.3f} of {total}' if total else 'none'


def last_turn(example):
    """(messages before the last answer, that answer)."""
    return example['messages'][:-1], example['messages'][-1]['content'].strip()


def exact(speaker, encoder, examples, limit=LIMIT):
    asked, wanted = zip(*map(last_turn, examples))
    said = speaker.say([encoder.prompt(m) for m in asked], limit)
    return share(sum(a == b for a, b in zip(said, wanted)), len(wanted))


def documents(speaker, encoder, corpora):
    drawn = tasks.Tasks(corpora, seed=31)
    held = drawn.r.sample(corpora.held_pairs, 300)
    print('marked sentence, exact:', exact(speaker, encoder, [drawn.marked(p) for p in held]))
    print('no mark, declined:', exact(speaker, encoder, [drawn.unmarked() for _ in range(100)]))
    made = [synthetic.facts(drawn.r, corpora.words, 3) for _ in range(100)]
    examples = [drawn.chat([(f[0][1], f[0][0])], 'Context:\n' + '\n'.join(s for s, _ in drawn.r.sample(f, 3))) for f in made]
    print('plain text, made-up facts, 1 of 3 sentences, exact:', exact(speaker, encoder, examples))
    examples = [drawn.chat([p], 'Context:\n' + p[1]) for p in held[:100]]
    print('plain text, a single real sentence, exact:', exact(speaker, encoder, examples))
    for size in (1000, 2000, 3800):
        examples = [long_example(drawn, p, size, encoder) for p in held[:40]]
        print(f'marked sentence behind {size} tokens, exact:', exact(speaker, encoder, examples))


def long_example(drawn, pair, size, encoder):
    parts = []
    while len(encoder.tokenizer.encode(''.join(parts))) < size - 150:
        parts.append('<|doc|>' + drawn.passage())
    while len(encoder.tokenizer.encode(''.join(parts))) > size - 100:
        parts.pop()
    return drawn.chat([pair], ''.join(parts) + '<|mark|>' + pair[1])


def parse_call(text):
    """The call's object, or None where the turn is no well-formed call."""
    if not text.startswith('<|tool_call|>'):
        return None
    try:
        call = json.loads(text[len('<|tool_call|>'):].split('<|tool_call|>')[0])
    except ValueError:
        return None
    return call if isinstance(call, dict) and isinstance(call.get('arguments'), dict) and 'name' in call else None


def call_figures(speaker, encoder, points, title):
    """`points`: (messages, tools, wanted call). Prints how often the model calls, is well-formed, and is right."""
    said = speaker.say([encoder.prompt(m, t) for m, t, _ in points])
    count = collections.Counter()
    for text, (_, tools, wanted) in zip(said, points):
        call = parse_call(text)
        count['called'] += text.startswith('<|tool_call|>')
        if call:
            count['valid'] += 1
            count['listed'] += call['name'] in {t['function']['name'] for t in tools}
            count['name'] += call['name'] == wanted['name']
            if call['name'] == wanted['name']:
                count['values'] += len(wanted['arguments'])
                count['right values'] += sum(str(call['arguments'].get(k)).lower() == str(v).lower()
                                             for k, v in wanted['arguments'].items())
                count['whole'] += {k: str(v).lower() for k, v in call['arguments'].items()} == \
                    {k: str(v).lower() for k, v in wanted['arguments'].items()}
    n = len(points)
    print(f"{title}: calls {share(count['called'], n)}; well-formed {share(count['valid'], count['called'])} calls; "
          f"a listed name {share(count['listed'], count['valid'])}; right name {share(count['name'], count['valid'])}; "
          f"right values {share(count['right values'], count['values'])} of rightly named calls; whole call {share(count['whole'], n)}")


def tools(speaker, encoder, corpora, data):
    r, calls, talk = random.Random(5), [], []
    trained = {t['function']['name'] for d in corpora.dialogues for t in d['tools']}
    for dialogue in corpora.held_dialogues:
        dialogue = tasks.ground(dialogue)
        if not dialogue:
            continue
        for i, m in enumerate(dialogue['messages']):
            before = dialogue['messages'][:i]
            if m['role'] != 'assistant' or len(encoder.prompt(before, dialogue['tools'])) > 1000:
                continue
            if m.get('tool_calls'):
                calls.append((before, dialogue['tools'], m['tool_calls'][0]['function']))
            else:
                talk.append((before, dialogue['tools']))
    known = [c for c in calls if c[2]['name'] in trained]
    new = [c for c in calls if c[2]['name'] not in trained]
    call_figures(speaker, encoder, r.sample(known, min(150, len(known))), 'SGD dev, tools seen in training')
    call_figures(speaker, encoder, r.sample(new, min(150, len(new))), 'SGD dev, new tools')
    said = speaker.say([encoder.prompt(*p) for p in r.sample(talk, 150)])
    print('SGD dev, turns that talk: calls wrongly', share(sum(s.startswith('<|tool_call|>') for s in said), len(said)))
    drawn, points = tasks.Tasks(corpora, seed=32), []
    while len(points) < 150:
        made = drawn.made_up_tool()
        at = next(i for i, m in enumerate(made['messages']) if m.get('tool_calls'))
        points.append((made['messages'][:at], made['tools'], made['messages'][at]['tool_calls'][0]['function']))
    call_figures(speaker, encoder, points, 'made-up tools')
    call_figures(speaker, encoder, bfcl(data), 'BFCL simple (Python)')
    quiet = [drawn.tool_silence() for _ in range(100)]
    said = speaker.say([encoder.prompt(m['messages'][:-1], m['tools']) for m in quiet])
    print('small talk with tools: calls wrongly', share(sum(s.startswith('<|tool_call|>') for s in said), len(said)))


def bfcl(data):
    """First acceptable answer of each case; optional arguments that may be left out are left out."""
    def lines(name):
        with gzip.open(f'{data}/tools/{name}', 'rt', encoding='utf-8') as file:
            return [json.loads(line) for line in file]
    answers = {a['id']: a['ground_truth'][0] for a in lines('possible_answer/BFCL_v4_simple_python.json.gz')}
    points = []
    for case in lines('BFCL_v4_simple_python.json.gz'):
        (name, options), = answers[case['id']].items()
        wanted = {'name': name, 'arguments': {k: v[0] for k, v in options.items() if '' not in v}}
        points.append((case['question'][0], [{'function': f} for f in case['function']], wanted))
    return points[::4]


def talk(speaker, encoder):
    prompt = lambda text: encoder.prompt([{'role': 'user', 'content': text}])
    for title, (asked, pattern) in TALK.items():
        said = speaker.say([prompt(a) for a in asked])
        print(f'{title}:', share(sum(bool(re.search(pattern, s)) for s in said), len(said)), said[:2])
    said = speaker.say([prompt(a) for a in OPEN_PROMPTS])
    repeated = total = 0
    for text in said:
        words = text.split()
        grams = [tuple(words[i:i + 4]) for i in range(len(words) - 3)]
        repeated, total = repeated + len(grams) - len(set(grams)), total + len(grams)
    print('open prompts, four-word sequences said before in the same answer:', share(repeated, total))
    for asked, text in list(zip(OPEN_PROMPTS, said))[:8]:
        print('  ', asked, '->', text)


def made_up(speaker, encoder, corpora):
    drawn = tasks.Tasks(corpora, seed=33)
    for title, draw in (('echo, memory, persona', drawn.instructed), ('JSON from a sentence', drawn.json)):
        print(f'{title}, exact:', exact(speaker, encoder, [draw() for _ in range(150)]))


def main():
    parser = argparse.ArgumentParser()
    for name, text in (('data', 'folder with the data sets'), ('out', "make.py's folder"), ('probe', 'llama_probe.cpp, built')):
        parser.add_argument(f'--{name}', required=True, help=text)
    parser.add_argument('--backends', default='-', help="folder of llama.cpp's CPU backends")
    args = parser.parse_args()
    with open(os.path.join(args.out, 'corpora.pickle'), 'rb') as file:
        corpora = pickle.load(file)
    tokens = tokenizer.Tokenizer.load(os.path.join(args.out, 'tokenizer.json'))
    encoder = batches.Encoder(tokens)
    speaker = Speaker(Probe(args.probe, args.backends), os.path.join(args.out, 'quire-chat-1.Q8_0.gguf'), tokens)
    talk(speaker, encoder)
    made_up(speaker, encoder, corpora)
    documents(speaker, encoder, corpora)
    tools(speaker, encoder, corpora, args.data)
    print('turns ended by the model:', share(speaker.ended[True], sum(speaker.ended.values())))


if __name__ == '__main__':
    main()

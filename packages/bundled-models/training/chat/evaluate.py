"""Measures a file in llama.cpp, greedy, on what training never saw: free, and held to the document's sentences as the service does.

    python3 evaluate.py --data DATA --out OUT --probe LLAMA_PROBE --backends FOLDER [--only PART] [--model FILE.gguf]
"""
import argparse
import collections
import os
import pickle
import random
import re

import batches
import synthetic
import talk as talking
import tasks
import tokenizer
from evaluate_tools import tools
from speaker import Probe, Speaker, share

NOT_FOUND = talking.NOT_FOUND[0]
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


def last_turn(example):
    """(messages before the last answer, that answer)."""
    return example['messages'][:-1], example['messages'][-1]['content'].strip()


def overlap(said, wanted):
    """F1 of the words, as SQuAD measures answers."""
    a, b = (re.findall(r'\w+', text.lower()) for text in (said, wanted))
    common = sum((collections.Counter(a) & collections.Counter(b)).values())
    return 2 * common / (len(a) + len(b)) if common else float(a == b)


def exact(speaker, examples, title, limit=160):
    asked, wanted = zip(*map(last_turn, examples))
    said = speaker.say([speaker.encoder.prompt(m) for m in asked], limit)
    f1 = sum(map(overlap, said, wanted)) / len(wanted)
    print(f'{title}: exact {share(sum(a == b for a, b in zip(said, wanted)), len(wanted))}, F1 {f1:.3f}')


def held_to_sentences(speaker, points, title):
    """`points`: (messages, sentences of the documents, expected answer)."""
    said = speaker.choose([speaker.encoder.prompt(m) for m, _, _ in points],
                          [[c + '<|end|>' for c in dict.fromkeys(parts + [NOT_FOUND])] for _, parts, _ in points])
    print(f'{title}, held to the sentences: right', share(sum(s == w + '<|end|>' for s, (_, _, w) in zip(said, points)), len(points)))


def form(parts, chosen, question):
    """Format of the service: the marked sentence last."""
    text = ''.join('<|doc|>' + p for p in parts if p != chosen) + ('<|mark|>' + chosen if chosen else '')
    return [{'role': 'system', 'content': text}, {'role': 'user', 'content': question}]


def documents(speaker, corpora):
    drawn = tasks.Tasks(corpora, seed=31)
    r, held = drawn.r, drawn.r.sample(corpora.held_pairs, 300)
    others = lambda answer, n: [p[1] for p in r.sample(corpora.held_pairs, n + 1) if p[1] != answer][:n]
    exact(speaker, [drawn.chat([p], '<|mark|>' + p[1]) for p in held], 'marked sentence alone')
    made = [(form(others(s, 4) + [s], s, q), q, s) for q, s in held]
    exact(speaker, [{'messages': m + [{'role': 'assistant', 'content': s}]} for m, _, s in made], 'marked sentence among five')
    parts_of = lambda messages: re.split(r'<\|(?:doc|mark)\|>', messages[0]['content'])[1:]
    held_to_sentences(speaker, [(m, parts_of(m), s) for m, _, s in made], 'marked sentence among five')
    none = [form(others('', 5), None, q) for q, _ in held[:200]]
    said = speaker.say([speaker.encoder.prompt(m) for m in none])
    print('nothing marked: declines', share(sum(s == NOT_FOUND for s in said), len(said)))
    held_to_sentences(speaker, [(m, parts_of(m), NOT_FOUND) for m in none], 'nothing marked')
    wrong = []
    for q, _ in held[:150]:
        parts = others('', 5)
        wrong.append((form(parts, parts[-1], q), parts, NOT_FOUND))
    held_to_sentences(speaker, wrong, 'a wrong sentence marked: declines')
    right = [(m, parts_of(m), s) for m, _, s in made]
    mixed = [(m[0]['content'].replace('<|mark|>', '<|doc|>'), m[1], p, s) for m, p, s in right[:150]]
    held_to_sentences(speaker, [([{'role': 'system', 'content': t}, u], p, s) for t, u, p, s in mixed], 'the right sentence among five, none marked')
    plain(speaker, corpora, drawn, held)
    for size in (1000, 2000, 3900):
        long = [long_example(drawn, p, size, speaker.encoder) for p in held[:60]]
        exact(speaker, long, f'marked sentence behind {size} tokens')
        texts = [re.split(r'<\|(?:doc|mark)\|>', e['messages'][0]['content'])[1:] for e in long]
        held_to_sentences(speaker, [(e['messages'][:-1], t, e['messages'][-1]['content']) for e, t in zip(long, texts)],
                          f'marked sentence behind {size} tokens')


def plain(speaker, corpora, drawn, held):
    made = [synthetic.facts(drawn.r, corpora.words, 3) for _ in range(100)]
    exact(speaker, [drawn.chat([(f[0][1], f[0][0])], 'Context:\n' + '\n'.join(s for s, _ in drawn.r.sample(f, 3))) for f in made],
          'plain text, made-up facts, 1 of 3 sentences')
    exact(speaker, [drawn.chat([p], 'Context:\n' + p[1]) for p in held[:150]], 'plain text, a single real sentence')
    exact(speaker, [drawn.chat([(f'{s}\n\nQuestion: {q}', s)]) for q, s in held[:150]], "plain text in the user's message, a single real sentence")
    exact(speaker, [drawn.chat([(f[0][1], NOT_FOUND)], 'Context:\n' + '\n'.join(s for s, _ in f[1:])) for f in made],
          'plain text, made-up facts, not in it')
    stories = [drawn.story() for _ in range(150)]
    exact(speaker, stories, 'questions by pronoun over marked made-up facts')


def long_example(drawn, pair, size, encoder):
    parts = []
    while len(encoder.tokenizer.encode(''.join(parts))) < size - 150:
        parts.append('<|doc|>' + drawn.passage())
    while len(encoder.tokenizer.encode(''.join(parts))) > size - 100:
        parts.pop()
    return drawn.chat([pair], ''.join(parts) + '<|mark|>' + pair[1])


def talk(speaker, corpora):
    prompt = lambda text: speaker.encoder.prompt([{'role': 'user', 'content': text}])
    for title, (asked, pattern) in TALK.items():
        said = speaker.say([prompt(a) for a in asked])
        print(f'{title}:', share(sum(bool(re.search(pattern, s)) for s in said), len(said)), said[:2])
    r, right, total = random.Random(6), 0, 0
    for intent, answers in talking.SMALL_INTENTS.items():
        said = speaker.say([prompt(a) for a in r.sample(corpora.held_intents[intent], 10)])
        right, total = right + sum(s in answers for s in said), total + 10
    print("people's small talk, answered in kind:", share(right, total))
    said = speaker.say([prompt(a) for a in OPEN_PROMPTS])
    repeated = total = 0
    for text in said:
        words = text.split()
        grams = [tuple(words[i:i + 4]) for i in range(len(words) - 3)]
        repeated, total = repeated + len(grams) - len(set(grams)), total + len(grams)
    print('open prompts, four-word sequences said before in the same answer:', share(repeated, total))
    for asked, text in list(zip(OPEN_PROMPTS, said))[:8]:
        print('  ', asked, '->', text)


def made_up(speaker, corpora):
    drawn = tasks.Tasks(corpora, seed=33)
    for title, draw in (('echo, memory, persona', drawn.instructed), ('JSON from a sentence', drawn.json)):
        exact(speaker, [draw() for _ in range(150)], title)


def main():
    parser = argparse.ArgumentParser()
    for name, text in (('data', 'folder with the data sets'), ('out', "make.py's folder"), ('probe', 'llama_probe.cpp, built')):
        parser.add_argument(f'--{name}', required=True, help=text)
    parser.add_argument('--backends', default='-', help="folder of llama.cpp's CPU backends")
    parser.add_argument('--only', choices=['talk', 'documents', 'tools'], help='measure this part alone')
    parser.add_argument('--model', help='file to measure, of the same tokenizer; else the one in OUT')
    args = parser.parse_args()
    with open(os.path.join(args.out, 'corpora.pickle'), 'rb') as file:
        corpora = pickle.load(file)
    tokens = tokenizer.Tokenizer.load(os.path.join(args.out, 'tokenizer.json'))
    model = args.model or os.path.join(args.out, 'quire-chat-2.Q8_0.gguf')
    speaker = Speaker(Probe(args.probe, args.backends), model, batches.Encoder(tokens))
    if args.only in (None, 'talk'):
        talk(speaker, corpora)
        made_up(speaker, corpora)
    if args.only in (None, 'documents'):
        documents(speaker, corpora)
    if args.only in (None, 'tools'):
        tools(speaker, corpora, args.data)
    print('turns ended by the model:', share(speaker.ended[True], sum(speaker.ended.values())))


if __name__ == '__main__':
    main()

"""Reads the public sets that the embedder is trained on: only those whose licence allows shipped weights.

Not read: cnn_dailymail and xsum (the articles' rights are the publishers'), concode and trecqa (research only), hotpotqa
of P3 and social_i_qa (questions without text, licence unknown), SciQ (non-commercial), QED (its annotations state no licence),
and all of retrieval/ and sts/.
"""
import ast
import gzip
import json
import os
import random
import re
import sysconfig
import textwrap

NON_COMMERCIAL = 'sciq'
PASSAGES_OF = ('adversarial_qa', 'quoref', 'ropes', 'duorc', 'dbpedia_14', 'quartz', 'wiki_hop', 'wiki_bio')
# Skipped folders of the standard library: tests, tables, and installed packages.
UNLIKE_CODE = ('site-packages', 'dist-packages', 'test', 'tests', 'idlelib', 'encodings', 'pydoc_data', 'tkinter', 'lib2to3',
               'distutils', '__pycache__', 'ensurepip')
SENTENCE = re.compile(r'(?<=[.!?])\s+(?=[A-Z"(\[])')


def json_rows(path):
    with gzip.open(path, 'rt', encoding='utf-8') as file:
        return [json.loads(line) for line in file]


def pairs_of(data, name):
    return [(r['a'], r['b']) for r in json_rows(f'{data}/pairs/{name}.jsonl.gz')]


def docs_of(data, name):
    """Heading and section. The heading path doubles as a title, as ingestion stores it with each chunk."""
    return [(a, b) for a, b in pairs_of(data, name) if len(b) > 40]


def unquoted(text):
    return text.strip().strip('"').strip()


def p3(data):
    """Rows of the permissive P3 sample, without the set whose licence is unknown."""
    return [r for r in json_rows(f'{data}/chat/t0_permissive.jsonl.gz') if r['licence'] != 'unknown']


def questions_with_passages(data):
    """Question and passage out of the rendered reading-comprehension prompts of P3."""
    rows = json_rows(f'{data}/pairs/t0_question_passage.jsonl.gz')
    found = [(unquoted(r['a']), unquoted(r['b'])) for r in rows if not r['src'].startswith(NON_COMMERCIAL)]
    return [(a, b) for a, b in found if len(a) > 12 and len(b) > 60]


def paraphrases(data):
    """Paraphrases: PAWS of P3, and WikiSplit's sentences split into two."""
    found = pairs_of(data, 't0_paraphrase')
    for row in json_rows(f'{data}/chat/wikisplit.jsonl.gz'):
        found.append((row['sentence'], ' '.join(row['split'])))
    return found


def answers(data):
    """Instruction and answer (Dolly), topic turn and reply are left out: they share too little."""
    found = []
    for name in ('dolly_1000', 'dolly_6400'):
        for row in json_rows(f'{data}/chat/{name}.jsonl.gz'):
            turns = row['messages']
            found.append((turns[0]['content'], turns[-1]['content']))
    return [(a, b) for a, b in found if len(b) > 60]


def python_functions():
    """First line of the docstring, and the function with it, from the standard library of this Python (PSF licence)."""
    found, folder = [], sysconfig.get_path('stdlib')
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if f not in UNLIKE_CODE)
        for file in sorted(files):
            if file.endswith('.py'):
                with open(os.path.join(place, file), encoding='utf-8', errors='replace') as handle:
                    found += functions_in(handle.read())
    return found


def functions_in(source):
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    found, lines = [], source.splitlines(keepends=True)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            words = (ast.get_docstring(node) or '').split('\n\n')[0]
            code = ''.join(lines[node.lineno - 1:node.end_lineno])
            if 12 < len(words) < 300 and len(code) < 3000:
                code = textwrap.dedent(code)
                found.append((' '.join(words.split()), code))
                found.append((f"python {node.name.strip('_').replace('_', ' ')}", code))
    return found


def passages(data):
    """Running text, for pairs of a sentence and its surroundings."""
    found = {b for _, b in questions_with_passages(data)}
    found |= {r['prompt'] for r in p3(data) if r['dataset'] in PASSAGES_OF}
    for name in ('medquad_question_answer', 'oss_docs_heading_section', 'opensearch_docs_heading_section',
                 'dolly_question_context', 'hotpotqa_question_context_dev'):
        found |= {b for _, b in pairs_of(data, name)}
    return sorted(found)


def neighbours(texts, seed):
    """(one or two sentences, the rest of the passage): neighbouring text has the same topic."""
    draw, found = random.Random(seed), []
    for text in texts:
        parts = [s for s in SENTENCE.split(re.sub(r'\s+', ' ', text[:3000])) if len(s) > 30]
        if len(parts) < 3:
            continue
        at, size = draw.randrange(len(parts)), draw.choice((1, 1, 2))
        # Sometimes the sentence stays in the passage, so that equal words keep their weight.
        rest = parts if draw.random() < 0.25 else parts[:at] + parts[at + size:]
        if rest:
            found.append((' '.join(parts[at:at + size]), ' '.join(rest)))
    return found


def all_pairs(data, seed=0):
    """{name: [(a, b)]} of all sources whose licence allows shipped weights."""
    return {
        'wordnet_lemmas': pairs_of(data, 'wordnet_lemmas_gloss'),
        'wordnet_examples': pairs_of(data, 'wordnet_example_gloss'),
        'tldr': pairs_of(data, 'tldr_description_command'),
        'jaquad': pairs_of(data, 'jaquad_train_question_passage_ja'),
        'oss_docs': docs_of(data, 'oss_docs_heading_section'),
        'opensearch_docs': docs_of(data, 'opensearch_docs_heading_section'),
        'medquad': pairs_of(data, 'medquad_question_answer'),
        'squad': pairs_of(data, 'squad_question_sentence_dev_minus_xquad') + pairs_of(data, 'squad_question_sentence_test'),
        'reading': questions_with_passages(data) + pairs_of(data, 'dolly_question_context')
        + pairs_of(data, 'hotpotqa_question_context_dev'),
        'paraphrases': paraphrases(data),
        'answers': answers(data),
        'python': python_functions(),
        'neighbours': neighbours(passages(data), seed),
    }

"""Reads the public sets that the model is trained on. Only sets whose licence allows shipped weights are opened here.

Nothing of retrieval/, no file named `dev` or `ifeval`, and nothing marked unknown or non-commercial is read, except
the development dialogues that `npm run eval:chat` measures on and train.py never sees.
"""
import collections
import gzip
import json
import re

# Held-out question and sentence pairs: one block of 50 neighbours in every 35, so that near-duplicates of the same
# article rarely fall on both sides.
BLOCK, EVERY, KEPT = 50, 35, 7
# Machine voices that claim feelings, a body or another maker, and jokes at the user's expense.
TEMPLATE_WORDING = re.compile(r'(I know that|Extract|Read the|Given|Question|Context|Answer|Combine|Here is|Based on)')
UNFIT = re.compile(
    r"\b(hell|damn|stupid|idiot|sex|kill|die|death|drug|gun|god|jesus|hate|ugly|dumb|shut up|suck|love you|marry|"
    r"girlfriend|boyfriend|drunk|beer|racis\w+|nazi|hitler|alice|elvis|richard|wallace|loebner|turing|cortana|nerds|lesbian|gay|"
    r"human being|who (are|made|created|is your)|what are you|your (name|age|boss)|bot master|botmaster|programmer|chatterbot|eliza|hal 9000)\b", re.I)


def rows(folder, path):
    with gzip.open(f'{folder}/{path}.jsonl.gz', 'rt', encoding='utf-8') as file:
        for line in file:
            yield json.loads(line)


def p3(folder):
    """The permissive P3 sample without social_i_qa, whose licence is unknown."""
    return (r for r in rows(folder, 'chat/t0_permissive') if r['licence'] != 'unknown')


def sentences(text):
    parts = re.split(r'(?<=[.!?])\s+(?=[A-Z"(])', re.sub(r'\s+', ' ', text))
    return [s.strip() for s in parts if 20 < len(s.strip()) < 350]


def untokenise(text):
    """`does n't , he said` -> `doesn't, he said`, for tokenized sets."""
    for pattern, better in [(r"`` ?", '"'), (r" ?''", '"'), (r' -- ', ' - '), (r'-lrb- ?', '('), (r' ?-rrb-', ')'),
                            (r'\( ', '('), (r' \)', ')'), (r'([$£#]) (?=\d)', r'\1'), (r"(\w) '(?=\s|$|,|\.)", r"\1'"),
                            (r" (n't|'s|'re|'ve|'ll|'d|'m)\b", r'\1'), (r' ([.,;:?!%])', r'\1')]:
        text = re.sub(pattern, better, text)
    return text


class Truecaser:
    """Restores the case of lower-cased text: the most frequent spelling of each word inside the sentences of cased
    text.
    """

    def __init__(self, texts):
        counts = collections.defaultdict(collections.Counter)
        for text in texts:
            for word in re.findall(r"(?<=[a-z,] )[A-Za-z][\w'’-]*", text):
                counts[word.lower()][word] += 1
        self.best = {word: forms.most_common(1)[0][0] for word, forms in counts.items()}

    def __call__(self, text):
        text = re.sub(r"[a-z][\w'’-]*", lambda m: self.best.get(m[0], m[0]), text)
        return text[:1].upper() + text[1:]


def question_pairs(folder):
    """(question, sentence that answers it) from SQuAD, split into training and held-back pairs."""
    case = Truecaser(r['prompt'] for r in p3(folder))
    fix = lambda text: case(untokenise(text))
    pairs = [(fix(r['a']), fix(r['b'])) for name in ('test', 'dev_minus_xquad')
             for r in rows(folder, f'pairs/squad_question_sentence_{name}')]
    held = [p for i, p in enumerate(pairs) if (i // BLOCK) % EVERY == KEPT]
    seen = {s for _, s in held}
    return [p for i, p in enumerate(pairs) if (i // BLOCK) % EVERY != KEPT and p[1] not in seen], held


def passages(folder):
    """(question, sentences, index of the sentence with the answer) from adversarial_qa and Dolly's contexts."""
    found = []
    for r in p3(folder):
        if r['dataset'] == 'adversarial_qa' and r['task'].endswith('question_context_answer'):
            m = re.match(r'Question: "(.*?)"\s+Context: "(.*)"\s+Answer:', r['prompt'], re.S)
            answer, parts = r['completion'].replace('<|endoftext|>', '').strip(), sentences(m[2]) if m else []
            hits = [i for i, s in enumerate(parts) if answer in s]
            if m and len(hits) == 1:
                found.append((m[1], parts, hits[0]))
    return found


def prose(folder):
    """Single sentences of running English."""
    texts = []
    for r in p3(folder):
        if r['dataset'] in ('adversarial_qa', 'quoref', 'ropes', 'cosmos_qa', 'dbpedia_14', 'duorc'):
            # The longest paragraph of a prompt is its passage; the rest is the template's wording.
            texts += sentences(max(re.split(r'\n+', r['prompt']), key=len))
    for r in rows(folder, 'pairs/dolly_question_context'):
        texts += sentences(r['b'])[:8]
    for r in rows(folder, 'pairs/medquad_question_answer'):
        texts += sentences(r['b'])[:3]
    for r in rows(folder, 'pairs/tldr_description_command'):
        texts.append(r['a'].strip())
    return [t for t in dict.fromkeys(texts) if 20 < len(t) < 350 and not TEMPLATE_WORDING.match(t)]


def small_talk(folder):
    """Short friendly exchanges, without unsuitable ones."""
    turns = []
    for name in ('chat/personality_chat', 'chat/chatterbot_english'):
        for r in rows(folder, name):
            if r.get('topic') in ('trivia', 'ai', 'botprofile', 'history', 'politics', 'psychology', 'money', 'sports',
                                  'movies', 'gossip', 'emotion', 'humor', 'science', 'tech_support', 'literature', 'coding'):
                continue
            texts = [m['content'].strip() for m in r['messages'][:2]]
            if len(texts) == 2 and r.get('style') != 'Humorous' and not UNFIT.search(' '.join(texts)) \
                    and max(map(len, texts)) < 160:
                turns.append(tuple(texts))
    return list(dict.fromkeys(turns))


def requests(folder, split):
    """Intent -> real users' requests of CLINC150 and BANKING77, and the names of the latter's intents. `split` is train or test."""
    found, bank = collections.defaultdict(list), set()
    for name in ('clinc150', 'banking77'):
        for r in rows(folder, f'chat/{name}_intents'):
            if ('test' in r['split']) == (split == 'test'):
                found[r['intent']].append(r['text'])
                if name == 'banking77':
                    bank.add(r['intent'])
    return dict(found), bank


def proper_names(texts):
    """Names of people, places and works that stand inside sentences."""
    found = collections.Counter(n for t in texts for n in re.findall(r'(?<=[a-z] )[A-Z][a-z]+(?: [A-Z][a-z]+){0,2}', t))
    return sorted(n for n in found if len(n) < 30)


def instructions(folder):
    """(instruction, short answer) written by people."""
    found = []
    for name in ('chat/dolly_6400', 'chat/dolly_1000', 'chat/self_instruct_human'):
        for r in rows(folder, name):
            if len(r['messages']) == 2:
                asked, answer = (m['content'].strip() for m in r['messages'])
                if len(asked) < 400 and 0 < len(answer) < 350:
                    found.append((asked, answer))
    return found


def tool_dialogues(folder, name):
    """Conversations in the chat completions' message form, arguments parsed and long tool results shortened."""
    for r in rows(folder, f'chat/{name}'):
        messages = []
        for m in r['messages']:
            m = dict(m)
            if m.get('tool_calls'):
                calls = [c['function'] for c in m['tool_calls']]
                m['tool_calls'] = [{'function': {'name': c['name'], 'arguments': json.loads(c['arguments'])
                                                 if isinstance(c['arguments'], str) else c['arguments']}} for c in calls]
            elif m['role'] == 'tool':
                m['content'] = shorten(m['content'])
            messages.append({k: v for k, v in m.items() if k in ('role', 'content', 'tool_calls')})
        yield {'tools': r['tools'], 'messages': messages}


def shorten(result, limit=260):
    """The first entries of a JSON list that fit `limit` characters, at least one."""
    try:
        value = json.loads(result)
    except ValueError:
        return result[:limit]
    if not isinstance(value, list):
        return result[:limit]
    while len(value) > 1 and len(json.dumps(value, ensure_ascii=False)) > limit:
        value = value[:-1]
    return json.dumps(value, ensure_ascii=False)

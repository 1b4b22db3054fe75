"""The task mixture: every task returns one conversation {messages, tools?}, or for copying drills bare token ids."""
import random
import re

import sources
import synthetic
import talk

CALL_STYLES = ('get', 'search', 'lookup', 'list', 'query', 'run', 'start', 'make', 'fetch', 'find', 'do', 'new')
DOCUMENT_PROMPTS = ['', '', 'Answer from the documents.', 'Answer the question with the marked sentence.',
                    'Use the following documents to answer.', 'You are a helpful assistant. Answer from the documents.']
PLAIN_PROMPTS = ['Use the context to answer the question.\n\n{}', 'Context:\n{}', 'Answer from this text: {}',
                 'You are a helpful assistant. Use these passages:\n\n{}', 'Documents:\n{}', 'Answer from the context below.\n{}']


class Corpora:
    """Everything the tasks draw from, read once."""

    def __init__(self, folder):
        self.pairs, self.held_pairs = sources.question_pairs(folder)
        self.passages = sources.passages(folder)
        self.prose = sources.prose(folder)
        self.talk = sources.small_talk(folder)
        self.instructions = sources.instructions(folder)
        self.dialogues = [d for name in ('sgd_tool_dialogues_train', 'taskmaster4_tool_dialogues', 'api_bank')
                          for d in sources.tool_dialogues(folder, name)]
        self.held_dialogues = list(sources.tool_dialogues(folder, 'sgd_tool_dialogues_dev'))
        text = ' '.join(self.prose[::7]).lower()
        self.words = sorted({w for w in re.findall(r'(?<= )[a-z]{4,9}(?= )', text)})

    def texts(self, count=60000, seed=0):
        """Sample of all text, for the tokenizer."""
        r = random.Random(seed)
        texts = r.sample(self.prose, min(count // 2, len(self.prose))) + [t for p in self.pairs for t in p]
        texts += [t for p in self.talk + self.instructions for t in p]
        return texts


class Tasks:
    """Draws conversations. The same seed gives the same stream."""

    def __init__(self, corpora, seed):
        self.c, self.r = corpora, random.Random(seed)
        self.grounded = [g for g in map(ground, corpora.dialogues) if g]

    def draw(self, name):
        return getattr(self, name)()

    # -- copying ------------------------------------------------------------------------------------------------
    def drill(self):
        """A marked segment among others over one small alphabet: only a long match tells what comes next."""
        alphabet = [self.r.randrange(300, 4096) for _ in range(self.r.randint(5, 40))]
        parts = [[self.r.choice(alphabet) for _ in range(self.r.randint(6, 80))] for _ in range(self.r.randint(1, 4))]
        return {'drill': parts, 'chosen': self.r.randrange(len(parts))}

    def marked_text(self):
        """Copy the marked text, whatever it is; now and then two sentences or other text than prose."""
        parts = [self.passage() for _ in range(self.r.randint(1, 4))]
        return self.documents(parts, self.r.randrange(len(parts)), self.r.choice(self.c.pairs)[0])

    def marked(self, pair=None):
        """The service marks the sentence that answers; the model says it."""
        if self.r.random() < 0.15 and pair is None:
            question, parts, chosen = self.r.choice(self.c.passages)
            first = max(0, chosen - 2)
            return self.documents(parts[first:chosen + 2], chosen - first, question)
        question, sentence = pair or self.r.choice(self.c.pairs)
        parts = [self.neighbour(sentence) for _ in range(self.r.randint(0, 4))] + [sentence]
        if self.r.random() < 0.3:
            self.r.shuffle(parts)
        return self.documents(parts, parts.index(sentence), question)

    def long_documents(self, tokens):
        """`marked`, with about `tokens` tokens of other passages in front and now and then behind."""
        made, parts = self.marked(), []
        system = made['messages'][0]
        # 3.2 characters to a token, measured on this mixture.
        while sum(map(len, parts)) < tokens * 3.2:
            parts.append('<|doc|>' + self.passage())
        if system['role'] != 'system' or '<|mark|>' not in system['content']:
            return {'messages': [{'role': 'system', 'content': ''.join(parts)}] + made['messages']}
        cut = self.r.randrange(len(parts)) if self.r.random() < 0.3 else len(parts)
        system['content'] = ''.join(parts[:cut]) + system['content'] + ''.join(parts[cut:])
        return made

    def unmarked(self):
        """Documents and no mark: nothing relevant was found, so say so."""
        question = self.r.choice(self.c.pairs)[0]
        return self.documents([self.passage() for _ in range(self.r.randint(1, 4))], None, question)

    def plain_context(self):
        """Passages as plain text, without markers: find the sentence by its words."""
        r = self.r
        if r.random() < 0.6:
            found = synthetic.facts(r, self.c.words, r.choice((1, 1, 2, 3, 4, 5)))
            sentence, question = r.choice(found)
            parts = [s for s, _ in found]
        else:
            question, sentence = r.choice(self.c.pairs)
            parts = [self.neighbour(sentence) for _ in range(r.choice((0, 0, 1, 2)))] + [sentence]
            r.shuffle(parts)
        if r.random() < 0.5:
            parts = [f'[{i + 1}] {p}' for i, p in enumerate(parts)]
        text = r.choice((' ', '\n', '\n\n')).join(parts)
        where = r.random()
        if where < 0.5:
            return self.chat([(question, sentence)], r.choice(PLAIN_PROMPTS).format(text))
        asked = r.choice((f'{text}\n\n{question}', f'Context: {text}\n\nQuestion: {question}', f'{text} {question}'))
        return self.chat([(asked, sentence)], self.system())

    def documents(self, parts, chosen, question):
        """`chosen` is the index of the marked part, or None. In the system turn, a later one, or the user's own."""
        r = self.r
        numbered = r.random() < 0.25
        text = ''.join(('<|mark|>' if i == chosen else '<|doc|>') +
                       (f'[{i + 1}] ' if numbered and i != chosen else '') + p for i, p in enumerate(parts))
        answer = parts[chosen] if chosen is not None else talk.NOT_FOUND[0]
        where, before = r.random(), []
        if r.random() < 0.12:
            before = [self.exchange()]
        if where < 0.7:
            prompt = r.choice(DOCUMENT_PROMPTS)
            return self.chat(before + [(question, answer)], (prompt + r.choice(('\n', '\n\n')) if prompt else '') + text)
        if where < 0.85:
            made = self.chat(before + [(question, answer)], self.system())
            made['messages'].insert(-2, {'role': 'system', 'content': text})
            return made
        return self.chat(before + [(r.choice((f'{text}\n\n{question}', f'{text}\n\nQuestion: {question}')), answer)], self.system())

    def neighbour(self, sentence):
        """Another sentence, half of the time one from about the same article."""
        pairs = self.c.pairs
        if self.r.random() < 0.4:
            return self.passage()
        found = self.r.choice(pairs)[1]
        return found if found != sentence else self.r.choice(self.c.prose)

    def passage(self):
        r = self.r
        if r.random() < 0.15:
            return synthetic.facts(r, self.c.words, 1)[0][0]
        return ' '.join(r.choice(self.c.prose) for _ in range(r.choice((1, 1, 1, 2))))

    # -- talk ---------------------------------------------------------------------------------------------------
    def exchange(self):
        r, x = self.r, self.r.random()
        if x < 0.22:
            return r.choice(talk.GREETINGS), r.choice(talk.GREETING_ANSWERS)
        if x < 0.62:
            asked, answers = r.choice(talk.EXCHANGES)
            return r.choice(asked), r.choice(answers)
        if x < 0.68:
            return synthetic.small_sum(r)
        if x < 0.76:
            return synthetic.capital(r)
        if x < 0.86:
            return r.choice(self.c.pairs)[0], r.choice(talk.UNKNOWN)
        return r.choice(self.c.talk)

    def conversation(self):
        return self.chat([self.exchange() for _ in range(self.r.choice((1, 1, 2, 3)))], self.system())

    def instructed(self):
        """Do as told with words of the prompt: echo, memory, persona."""
        r, v, kind = self.r, synthetic.values(self.r, self.c.words), self.r.random()
        if kind < 0.5:
            asked, answer = r.choice(synthetic.ECHO)
            return self.chat([(asked.format(**v), answer.format(**v))], self.system())
        if kind < 0.8:
            told, noted, asked, answer = (s.format(**v) for s in r.choice(synthetic.MEMORY))
            return self.chat([(told, noted)] + [self.exchange() for _ in range(r.choice((0, 0, 1)))] + [(asked, answer)], self.system())
        prompt, asked, answer = (s.format(**v) for s in r.choice(synthetic.PERSONA))
        return self.chat([(asked, answer)], prompt)

    def told(self):
        """Open requests: short answers by people, or a few sentences about something."""
        r = self.r
        if r.random() < 0.6:
            return self.chat([r.choice(self.c.instructions)], self.system())
        sentence = r.choice(self.c.prose)
        names = re.findall(r'(?<=[a-z] )[A-Z][a-z]+(?: [A-Z][a-z]+)*', sentence)
        if not names:
            return self.told()
        asked = r.choice(('Tell me about {}.', 'Write a text about {}.', 'Write about {}', 'Tell me a story about {}.',
                          'Explain {}.', 'What do you know about {}?')).format(r.choice(names))
        return self.chat([(asked, sentence)], self.system())

    def beyond(self):
        """Open requests again, answered with what the model can do: at this size it cannot write freely."""
        r = self.r
        if r.random() < 0.5:
            asked = r.choice(self.c.instructions)[0]
        else:
            asked = r.choice(talk.OPEN_REQUESTS).format(**synthetic.values(r, self.c.words))
        return self.chat([(asked, r.choice(talk.BEYOND))], self.system())

    def text(self):
        """Plain English, as documents of which every token counts."""
        return {'text': [self.passage() for _ in range(3)]}

    def json(self):
        return synthetic.made_up_json(self.r, self.c.words)

    def system(self):
        return self.r.choice(talk.SYSTEM_PROMPTS) if self.r.random() < 0.45 else None

    def chat(self, exchanges, system=None):
        messages = [{'role': 'system', 'content': system}] if system else []
        for asked, answer in exchanges:
            messages += [{'role': 'user', 'content': asked}, {'role': 'assistant', 'content': answer}]
        return {'messages': messages}

    # -- tools --------------------------------------------------------------------------------------------------
    def made_up_tool(self):
        made = synthetic.made_up_call(self.r, self.c.words)
        if self.r.random() < 0.4:
            made = rename(made, self.r, self.c.words)
        before = [self.exchange()] if self.r.random() < 0.15 else []
        made['messages'] = self.chat(before, self.system())['messages'] + made['messages']
        return made

    def tool_silence(self):
        """Tools are listed but nothing calls for one."""
        made = self.conversation()
        made['tools'] = synthetic.some_tools(self.r, self.c.words) if self.r.random() < 0.7 else self.r.choice(self.grounded)['tools']
        return made

    def tool_dialogue(self):
        made = self.r.choice(self.grounded)
        return rename(made, self.r, self.c.words) if self.r.random() < 0.5 else made


def ground(dialogue):
    """The dialogue without the arguments whose values were not said before the call (converted dates, mostly), and
    without its tools' parameters of those names: every value left can be copied. None where a call loses all."""
    said, missing = '', set()
    for m in dialogue['messages']:
        for call in m.get('tool_calls') or []:
            for key, value in call['function']['arguments'].items():
                if isinstance(value, (list, dict)) or str(value).lower() not in said:
                    missing.add((call['function']['name'], key))
        said += ' ' + (m.get('content') or '').lower()
    tools = []
    for tool in dialogue['tools']:
        f = tool['function']
        properties = {k: p for k, p in f['parameters'].get('properties', {}).items() if (f['name'], k) not in missing}
        tools.append({'function': {'name': f['name'], 'description': f.get('description', ''), 'parameters': {'properties': properties}}})
    messages = []
    for m in dialogue['messages']:
        if m.get('tool_calls'):
            f = m['tool_calls'][0]['function']
            left = {k: v for k, v in f['arguments'].items() if (f['name'], k) not in missing}
            if f['arguments'] and not left:
                return None
            m = {'role': 'assistant', 'tool_calls': [{'function': {'name': f['name'], 'arguments': left}}]}
        messages.append(m)
    return {'tools': tools, 'messages': messages}


def restyle(name, r, words):
    """A new name in another style, so that names must be copied from the prompt and are not learned by heart."""
    parts = [p.lower() for p in re.findall(r'[A-Z]?[a-z0-9]+|[A-Z]+', name)] or [name]
    if r.random() < 0.3:
        parts[0] = r.choice(CALL_STYLES)
    if r.random() < 0.4:
        parts.insert(r.randint(0, len(parts)), r.choice(words))
    return r.choice(('_'.join(parts), '_'.join(parts), ''.join(p.title() for p in parts), '-'.join(parts),
                     parts[0] + ''.join(p.title() for p in parts[1:])))


def rename(dialogue, r, words):
    """The dialogue with other tool names and some other argument names, the same everywhere in it."""
    names, keys = {}, {}
    for tool in dialogue['tools']:
        f = tool['function']
        names[f['name']] = restyle(f['name'], r, words) if r.random() < 0.8 else f['name']
        for key in f['parameters'].get('properties', {}):
            keys.setdefault(key, restyle(key, r, words) if r.random() < 0.3 else key)
    tools = [{'function': {**t['function'], 'name': names[t['function']['name']], 'parameters': {'properties': {
        keys[k]: p for k, p in t['function']['parameters'].get('properties', {}).items()}}}} for t in dialogue['tools']]
    messages = []
    for m in dialogue['messages']:
        if m.get('tool_calls'):
            m = {**m, 'tool_calls': [{'function': {
                'name': names.get(c['function']['name'], c['function']['name']),
                'arguments': {keys.get(k, k): v for k, v in c['function']['arguments'].items()}}} for c in m['tool_calls']]}
        messages.append(m)
    return {'tools': tools, 'messages': messages}

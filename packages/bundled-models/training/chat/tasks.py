"""The task mixture: every task returns one conversation {messages, tools?}, or for copying drills bare token ids."""
import random
import re

import families
import sources
import synthetic
import talk
from made_up_tools import Toolbox, as_shown

CALL_STYLES = ('get', 'search', 'lookup', 'list', 'query', 'run', 'start', 'make', 'fetch', 'find', 'do', 'new')
DOCUMENT_PROMPTS = ['', '', 'Answer from the documents.', 'Answer the question with the marked sentence.',
                    'Use the following documents to answer.', 'You are a helpful assistant. Answer from the documents.']
PLAIN_PROMPTS = ['Use the context to answer the question.\n\n{}', 'Context:\n{}', 'Answer from this text: {}',
                 'You are a helpful assistant. Use these passages:\n\n{}', 'Documents:\n{}', 'Answer from the context below.\n{}']


class Corpora:
    """All sources of the tasks, read once."""

    def __init__(self, folder):
        self.pairs, self.held_pairs = sources.question_pairs(folder)
        self.passages = sources.passages(folder)
        self.prose = sources.prose(folder)
        self.talk = sources.small_talk(folder)
        self.instructions = sources.instructions(folder)
        self.dialogues = [d for name in ('sgd_tool_dialogues_train', 'taskmaster4_tool_dialogues', 'api_bank')
                          for d in sources.tool_dialogues(folder, name)]
        self.held_dialogues = list(sources.tool_dialogues(folder, 'sgd_tool_dialogues_dev'))
        # Real requests that need a tool; `beyond` are those without a matching tool.
        self.intents, self.bank_intents = sources.requests(folder, 'train')
        self.beyond = self.intents.pop('oos')
        self.names = sources.proper_names(self.prose)
        text = ' '.join(self.prose[::7]).lower()
        self.words = sorted({w for w in re.findall(r'(?<= )[a-z]{4,9}(?= )', text)})


class Tasks:
    """Draws conversations. The same seed gives the same stream."""

    def __init__(self, corpora, seed):
        self.c, self.r = corpora, random.Random(seed)
        self.grounded = [g for g in map(ground, corpora.dialogues) if g]
        self.toolbox, self.other_words = Toolbox(corpora, self.r), families.other_words()

    def draw(self, name):
        return getattr(self, name)()

    # -- copying ------------------------------------------------------------------------------------------------
    def drill(self):
        """A marked segment among others over one small alphabet: only a long match determines the next token."""
        alphabet = [self.r.randrange(300, 4096) for _ in range(self.r.randint(5, 40))]
        parts = [[self.r.choice(alphabet) for _ in range(self.r.randint(6, 80))] for _ in range(self.r.randint(1, 4))]
        return {'drill': parts, 'chosen': self.r.randrange(len(parts))}

    def marked_text(self):
        """Copy the marked text; sometimes two sentences, or text that is not prose."""
        parts = [self.passage() for _ in range(self.r.randint(1, 4))]
        return self.documents(parts, self.r.randrange(len(parts)), self.r.choice(self.c.pairs)[0])

    def marked(self, pair=None):
        """The service marks the sentence that answers; the model copies it."""
        if self.r.random() < 0.15 and pair is None:
            question, parts, chosen = self.r.choice(self.c.passages)
            first = max(0, chosen - 2)
            return self.documents(parts[first:chosen + 2], chosen - first, question)
        question, sentence = pair or self.r.choice(self.c.pairs)
        if pair is None and self.r.random() < 0.12:
            sentence += ' ' + self.r.choice(self.c.pairs)[1]
        parts = [self.neighbour(sentence) for _ in range(self.r.randint(0, 4))] + [sentence]
        if self.r.random() < 0.3:
            self.r.shuffle(parts)
        return self.documents(parts, parts.index(sentence), question)

    def wrong_mark(self):
        """The marked sentence is unrelated to the question: decline."""
        question, sentence = self.r.choice(self.c.pairs)[0], self.r.choice(self.c.pairs)[1]
        if content_words(question) & content_words(sentence):
            return self.wrong_mark()
        parts = [self.passage() for _ in range(self.r.randint(0, 3))] + [sentence]
        return self.documents(parts, len(parts) - 1, question, answered=False)

    def story(self):
        """Questions about one subject, the later ones with a pronoun. The mark is for the last; earlier answers
        are history.
        """
        r = self.r
        found = synthetic.story(r, self.c.words, r.randint(2, 5))
        parts, asked = [s for s, _, _ in found] + [self.passage() for _ in range(r.randint(0, 2))], r.randint(2, len(found))
        exchanges = [(q if i == 0 else later, s) for i, (s, q, later) in enumerate(found[:asked])]
        marked = found[asked - 1][0]
        if r.random() < 0.2:
            exchanges[-1] = (r.choice(self.c.pairs)[0], talk.NOT_FOUND[0])
            marked = None
        parts = [p for p in parts if p != marked]
        r.shuffle(parts)
        text = ''.join('<|doc|>' + p for p in parts) + ('<|mark|>' + marked if marked else '')
        return {**self.chat(exchanges, text), 'quiet': set(range(asked - 1))}

    def long_documents(self, tokens):
        """`marked`, behind about `tokens` tokens of other passages, sometimes also before others."""
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

    def long_marked(self):
        """`long_documents` of every length up to the context. Most are short, because long rows are expensive."""
        return self.long_documents(400 + 3200 * self.r.random() ** 2.5)

    def unmarked(self):
        """Documents without a mark: nothing relevant was found, so decline."""
        question = self.r.choice(self.c.pairs)[0]
        return self.documents([self.passage() for _ in range(self.r.randint(1, 4))], None, question)

    def plain_context(self):
        """Passages as plain text, without markers: find the sentence by its words."""
        r = self.r
        if r.random() < 0.6:
            found = synthetic.facts(r, self.c.words, r.choice((1, 1, 2, 3, 4, 5)))
            sentence, question = r.choice(found)
            parts = [s for s, _ in found]
            if r.random() < 0.2:
                question, sentence = r.choice(self.c.pairs)[0], talk.NOT_FOUND[0]
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

    def documents(self, parts, chosen, question, answered=True):
        """`chosen` is the index of the marked part, or None; `answered` is false when it does not answer. In the
        system message, a later one, or the user's message.
        """
        r = self.r
        numbered = r.random() < 0.25
        text = ''.join(('<|mark|>' if i == chosen else '<|doc|>') +
                       (f'[{i + 1}] ' if numbered and i != chosen else '') + p for i, p in enumerate(parts))
        answer = parts[chosen] if chosen is not None and answered else talk.NOT_FOUND[0]
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
        """Another sentence, with probability one half from nearby in the same article."""
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
        if x < 0.48:
            asked, answers = r.choice(talk.EXCHANGES)
            return r.choice(asked), r.choice(answers)
        if x < 0.64:
            intent, answers = r.choice(list(talk.SMALL_INTENTS.items()))
            return r.choice(self.c.intents[intent]), r.choice(answers)
        if x < 0.69:
            return synthetic.small_sum(r) if r.random() < 0.7 else synthetic.count_up(r)
        if x < 0.75:
            return synthetic.capital(r)
        if x < 0.81:
            return r.choice(r.choice(self.toolbox.intents)[2]), r.choice(talk.NEEDS_TOOL)
        if x < 0.91:
            return r.choice(self.c.pairs)[0] if r.random() < 0.7 else r.choice(self.c.beyond), r.choice(talk.UNKNOWN)
        return r.choice(self.c.talk)

    def exchange_without_tools(self):
        """An exchange that needs no call when tools are listed."""
        while True:
            asked, answer = self.exchange()
            if answer not in talk.NEEDS_TOOL:
                return asked, answer

    def conversation(self, exchange=None):
        return self.chat([(exchange or self.exchange)() for _ in range(self.r.choice((1, 1, 2, 3)))], self.system())

    def instructed(self):
        """Follow an instruction with words of the prompt: echo, memory, persona."""
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
        """Open requests, answered with the model's abilities: at this size it cannot write freely."""
        r = self.r
        if r.random() < 0.5:
            asked = r.choice(self.c.instructions)[0]
        else:
            asked = r.choice(talk.OPEN_REQUESTS).format(**synthetic.values(r, self.c.words))
        return self.chat([(asked, r.choice(talk.BEYOND))], self.system())

    def text(self):
        """Plain English as documents, with a loss on every token."""
        return {'text': [self.passage() for _ in range(3)]}

    def json(self):
        if self.r.random() < 0.6:
            return synthetic.made_up_json(self.r, self.c.words)
        text, fields = self.toolbox.record()
        return synthetic.json_task(self.r, text, fields)

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
        made = order_tools(made, self.r)
        before = [self.exchange_without_tools()] if self.r.random() < 0.15 else []
        made['messages'] = self.chat(before, self.system())['messages'] + made['messages']
        return made

    def tool_silence(self):
        """Tools are listed, but the turn needs none."""
        made, kind = self.conversation(self.exchange_without_tools), self.r.random()
        if self.r.random() < 0.2:
            made = self.instructed()
        made['tools'] = synthetic.some_tools(self.r, self.c.words) if kind < 0.25 else \
            self.r.choice(self.grounded)['tools'] if kind < 0.4 else self.toolbox.some()
        return made

    def tool_and_documents(self):
        """Tools are listed, but the documents contain the answer."""
        made = self.marked() if self.r.random() < 0.7 else self.unmarked()
        return {**made, 'tools': self.toolbox.some()}

    def tool_called(self):
        made = self.toolbox.called()
        before = [self.exchange_without_tools()] if self.r.random() < 0.12 else []
        return {**made, 'messages': self.chat(before, self.system())['messages'] + made['messages']}

    def tool_asked_back(self):
        made = self.toolbox.asked_back()
        return {**made, 'messages': self.chat([], self.system())['messages'] + made['messages']}

    def tool_choice(self):
        return self.toolbox.choice()

    def tool_intent(self):
        return self.toolbox.intent()

    def tool_unfit(self):
        return self.toolbox.unfit(self.c.beyond)

    def tool_dialogue(self):
        """Human dialogues with tools, calls and talk in their natural ratio; often renamed, reworded, among other
        tools.
        """
        r, made = self.r, self.r.choice(self.grounded)
        if r.random() < 0.6:
            made = rename(made, r, self.c.words, self.other_words)
        if r.random() < 0.5:
            taken = {t['function']['name'] for t in made['tools']}
            others = self.toolbox.some() if r.random() < 0.5 else self.r.choice(self.grounded)['tools']
            made = {**made, 'tools': made['tools'] + [t for t in others if t['function']['name'] not in taken]}
        return order_tools(made, r)


def order_tools(dialogue, r):
    """The dialogue with its tools as the service shows them for one of its calls. Calls of other tools have no
    loss, because the service would show other tools there.
    """
    spoken = [m for m in dialogue['messages'] if m['role'] == 'assistant']
    names = [m['tool_calls'][0]['function']['name'] if m.get('tool_calls') else None for m in spoken]
    wanted = r.choice([n for n in names if n] or [None])
    return {**dialogue, 'tools': as_shown(dialogue['tools'], wanted, r), 'quiet': {i for i, n in enumerate(names) if n not in (None, wanted)}}


def content_words(text):
    """Prefixes of content words."""
    return {w[:5] for w in re.findall(r'[a-z0-9]{4,}', text.lower())} - {'what', 'which', 'when', 'where', 'whose', 'many', 'much', 'does',
                                                                        'from', 'with', 'that', 'this', 'have', 'were', 'their', 'year'}


def ground(dialogue):
    """The dialogue without arguments whose values do not occur before the call (mostly converted dates), and
    without these parameters of its tools, so that all values can be copied. None when a call loses all
    arguments.
    """
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
    """A new name in another style, so that names are copied from the prompt instead of memorized."""
    parts = [p.lower() for p in re.findall(r'[A-Z]?[a-z0-9]+|[A-Z]+', name)] or [name]
    if r.random() < 0.3:
        parts[0] = r.choice(CALL_STYLES)
    if r.random() < 0.4:
        parts.insert(r.randint(0, len(parts)), r.choice(words))
    return r.choice(('_'.join(parts), '_'.join(parts), ''.join(p.title() for p in parts), '-'.join(parts),
                     parts[0] + ''.join(p.title() for p in parts[1:])))


def rename(dialogue, r, words, other_words=None):
    """The dialogue with other tool names and some other argument names, consistently. `other_words`: alternative
    names and descriptions of tools.
    """
    names, keys, told = {}, {}, {}
    for tool in dialogue['tools']:
        f = tool['function']
        if other_words and f['name'] in other_words and r.random() < 0.6:
            name, told[f['name']] = r.choice(other_words[f['name']])
            names[f['name']] = name if r.random() < 0.5 else restyle(name, r, words)
        else:
            names[f['name']] = restyle(f['name'], r, words) if r.random() < 0.8 else f['name']
        for key in f['parameters'].get('properties', {}):
            keys.setdefault(key, restyle(key, r, words) if r.random() < 0.3 else key)
    tools = [{'function': {'description': told.get(t['function']['name'], t['function'].get('description', '')),
                           'name': names[t['function']['name']], 'parameters': {'properties': {
        keys[k]: p for k, p in t['function']['parameters'].get('properties', {}).items()}}}} for t in dialogue['tools']]
    messages = []
    for m in dialogue['messages']:
        if m.get('tool_calls'):
            m = {**m, 'tool_calls': [{'function': {
                'name': names.get(c['function']['name'], c['function']['name']),
                'arguments': {keys.get(k, k): v for k, v in c['function']['arguments'].items()}}} for c in m['tool_calls']]}
        messages.append(m)
    return {'tools': tools, 'messages': messages}

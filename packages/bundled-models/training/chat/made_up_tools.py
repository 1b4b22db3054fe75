"""Conversations around made-up tools: calls, questions for what is missing, answers from results, and tools that do not fit.

Names, descriptions and argument keys change from conversation to conversation, so that a call has to be read from the list and
the user's words. Every sixth family and every sixth intent is never trained on.
"""
import json
import re

import families
import synthetic
import talk

HELD_EVERY = 6
# How often the service's selected tool is right, or the second best; how often it shows one tool only.
RIGHT_LAST, RIGHT_NEXT, ALONE = 0.82, 0.1, 0.65
STYLES = ('snake', 'snake', 'snake', 'camel', 'pascal', 'kebab', 'dotted')
MODULES = 'api tools app service core data my v1 client backend system'.split()
OPENINGS = ['', '', '', '', '', '', 'Hi, ', 'Hello! ', 'Hey, ', 'ok, ', 'Please help me. ', 'I have a request. ', 'Hi there. ', 'So, ']
CLOSINGS = ['', '', '', '', '', '', ' Thanks.', ' Thank you!', ' please', ' Thanks in advance.', ' It is urgent.']
WISHES = ['I want to {}.', 'Can you {}?', 'Please {}.', 'Could you {} for me?', 'I would like to {}', 'I need to {}.', 'Help me to {}.', '{}']
SENTENCES = ['Get the {0} of the {1}', 'Find {0} {1}', 'Set {0} for {1}', 'List all {0} in a {1}', '{0} {1}', 'Compute the {0} {1} from {2}',
             'Tell whether {0} has {1}', 'Make a new {0} with {1} and {2}', 'Send {0} to the {1}', 'Change the {0} {1}']
REQUESTS = ['{}', 'I need {}', 'What about the {}?', 'Please do the {}', 'show me {}', 'Can you {}?', 'I would like to know the {}', 'Start {}.',
            'How is the {}?', 'my {}, please', 'Is there any {}?', 'it is about {}']
MISSING_ONE = ['What is the {}?', 'Which {}?', 'Please tell me the {}.', 'What {} should I use?']
FAILURES = ['not found', 'timeout', 'permission denied', 'invalid request', 'service unavailable', 'no results', 'unknown id']
LISTS = {
    'animal': 'wolves|blue whales|tigers|honey bees|penguins|oak trees|foxes|sea turtles|owls|lynxes',
    'chem': 'H2O|NaCl|CO2|C6H12O6|H2SO4|iron|helium|gold|CH4|carbon|Fe2O3|oxygen', 'coinname': 'Bitcoin|Ethereum|Dogecoin|Litecoin|Solana',
    'command': 'npm test|ls -la|git status|make build|df -h|python main.py|cargo run|ping 10.0.0.1', 'doctor': 'dentist|dermatologist|cardiologist|'
    'family doctor|eye doctor|surgeon', 'drink': 'latte|cappuccino|green tea|espresso|hot chocolate|mocha|americano', 'drug': 'ibuprofen|aspirin|'
    'penicillin|paracetamol|insulin|metformin', 'env': 'staging|production|test|the canary cluster', 'cuisine': 'Italian|Thai|Mexican|Indian|Chinese|'
    'Greek|vegan|French|Turkish|Japanese|Ethiopian', 'expr': '3x^2 + 2x|x^3 - 4|2x + 7|sin(x)|x^2|5x^4 - x|e^x|x**3 + 2*x**2', 'file':
    'notes.txt|report.pdf|src/main.py|data/users.csv|config.yaml|README.md|invoice_2024.docx|/tmp/out.log', 'folder':
    'documents|/var/log|photos/2023|src|/home/anna|downloads|backup', 'food': 'pancakes|lasagna|chicken curry|tomato soup|sushi|apple pie|'
    'fried rice|pizza|burritos|falafel', 'food2': 'potatoes|eggs|spinach|chicken|lentils|milk|rice|apples|bread|mushrooms', 'genre':
    'jazz|rock|classical|pop|country|hip hop|folk|metal', 'genre2': 'comedy|thriller|horror film|drama|science fiction film|western', 'job':
    'nurse|teacher|software engineer|cook|driver|electrician|designer', 'kunit': 'cups|liters|pounds|ounces|pints', 'kunit2':
    'grams|milliliters|tablespoons|teaspoons|quarts', 'network': 'Mastodon|LinkedIn|Facebook|Bluesky|Instagram', 'planet':
    'Mars|Venus|Jupiter|Saturn|Mercury|Neptune|Uranus', 'room': 'kitchen|bedroom|living room|garage|office|bathroom|hall|nursery|attic|basement',
    'size': 'small|medium|large', 'sport': 'yoga|swimming|running|cycling|boxing|rowing|hiking|dancing', 'sql': 'SELECT * FROM users|'
    'SELECT name FROM orders WHERE id = 7|DELETE FROM logs|SELECT COUNT(*) FROM items', 'team': 'Golden Eagles|Real Madrid|the Lakers|Boston Bears|'
    'Ajax|Red Lions|Manchester United|Toronto Raptors', 'months': 'January|February|March|April|May|June|July|August|September|October|November|December'}
LISTS = {name: text.split('|') for name, text in LISTS.items()}


def values(r, words, names=()):
    """`synthetic.values` and the other placeholders of the families. `names` are proper names of running text."""
    v = synthetic.values(r, words)
    v.update({name: r.choice(items) for name, items in LISTS.items()})
    number = lambda: r.choice((str(r.randint(2, 20)), str(r.randint(2, 99)), str(r.randint(100, 9999)), f'{r.randint(1, 99)}.{r.randint(1, 9)}'))
    numbers = lambda: '[' + ', '.join(str(r.randint(1, 99)) for _ in range(r.randint(3, 6))) + ']'
    date = lambda: r.choice((f"{r.choice(LISTS['months'])} {r.randint(1, 28)}", f'2024-{r.randint(1, 12):02}-{r.randint(1, 28):02}',
                             f"{r.choice(LISTS['months'])} {r.randint(1, 28)}, {r.randint(2019, 2026)}", f'the {r.randint(2, 20)}th'))
    v.update({'n': number(), 'm': number(), 'k': str(r.randint(2, 12)), 'x': f'0.{r.randint(1, 99)}', 'list': numbers(), 'list2': numbers(),
              'date': date(), 'date2': date(), 'year': str(r.randint(1850, 2026)), 'country': r.choice(list(talk.CAPITALS)),
              'country2': r.choice(list(talk.CAPITALS)), 'url': f'https://{r.choice(words)}.{r.choice(("com", "org", "net"))}/{r.choice(words)}',
              'street': f'{r.randint(1, 300)} {r.choice(words).title()} {r.choice(("Street", "Road", "Avenue"))}',
              'title': ' '.join(w.title() for w in r.sample(words, r.randint(1, 3)))})
    if names:
        for place in ('title', 'full', 'company', 'city', 'topic'):
            if r.random() < 0.35:
                v[place] = r.choice(names)
    if r.random() < 0.2:
        v['day'] = v['date']
    if r.random() < 0.3:
        v['time'] = f"{r.randint(1, 12)} {r.choice(('am', 'pm', 'a.m.', 'p.m.'))}"
    return v


def restyle(words, style):
    parts = [p for p in re.split(r'[ ._-]+', words) if p]
    if style == 'camel':
        return parts[0] + ''.join(p.title() for p in parts[1:])
    if style == 'pascal':
        return ''.join(p.title() for p in parts)
    if style == 'dotted' and len(parts) > 1:
        return parts[0] + '.' + '_'.join(parts[1:])
    return ('-' if style == 'kebab' else '_').join(parts)


def other_verb(text, r):
    """`text` with a synonym of its first word, where one is listed."""
    first, _, rest = text.partition(' ')
    sets = [s for s in families.VERBS if first.lower() in s]
    if not sets:
        return text
    verb = r.choice(r.choice(sets))
    return (verb.title() if first[:1].isupper() else verb) + (' ' + rest if rest else '')



def as_shown(tools, wanted, r):
    """`tools` as the service shows them: often only the best match, otherwise all with the best match last, which
    is usually the `wanted` one. Without a wanted tool, any order.
    """
    tools = r.sample(tools, len(tools))
    tool, place = next((t for t in tools if t['function']['name'] == wanted), None), r.random()
    if r.random() < ALONE:
        return [tool] if tool else tools[-1:]
    if tool is not None and place < RIGHT_LAST + RIGHT_NEXT:
        tools.remove(tool)
        tools.insert(len(tools) if place < RIGHT_LAST else max(0, len(tools) - 1), tool)
    return tools


class Toolbox:
    """Draws tools and conversations about them. `held`: from the held-out families and intents."""

    def __init__(self, corpora, r, held=False):
        self.r, self.words, self.names = r, corpora.words, corpora.names
        # Words of tool descriptions are more frequent than those of running text.
        self.common = sorted({w for _, names, texts, _, asks, _ in families.families() for t in names + texts + asks
                              for w in re.findall(r'(?<![{:#])\b[a-z]{3,9}\b', t)})
        part = lambda items: [x for i, x in enumerate(items) if (i % HELD_EVERY == HELD_EVERY - 1) == held]
        self.families = part(families.families())
        known = families.intents()
        self.intents = part([(name, known.get(name, name.replace('_', ' ').strip('?').capitalize()), asked)
                             for name, asked in sorted(corpora.intents.items()) if name in known or name in corpora.bank_intents])

    # -- tools --------------------------------------------------------------------------------------------------
    def tool(self, family, style):
        """A tool of this family: (tool, {key: placeholder of each requested argument})."""
        r = self.r
        _, names, descriptions, arguments, _, _ = family
        name = r.choice(names)
        if r.random() < 0.3:
            name = other_verb(name, r)
        if r.random() < 0.12:
            name = f'{r.choice(MODULES)} {name}'
        description = r.choice(descriptions)
        if r.random() < 0.3:
            description = other_verb(description, r)
        name = restyle(name, style) if '.' not in name or r.random() < 0.5 else name.replace(' ', '_')
        if r.random() < 0.05:
            name = f"{r.choice(('tool', 'fn', 'f', 'action', 'op'))}_{r.randint(1, 99)}"
        elif r.random() < 0.06:
            description = ''
        properties, wanted = {}, {}
        for keys, placeholder, listed_only in arguments:
            if listed_only and r.random() < 0.45:
                continue
            key = r.choice(keys) if r.random() < 0.4 else keys[0]
            key = restyle(key, style if style in ('camel', 'snake') else 'snake')
            properties[key] = {'type': 'number' if placeholder.startswith('#') else 'string'}
            if not listed_only:
                wanted[key] = placeholder
        return {'function': {'name': name, 'description': description, 'parameters': {'properties': properties}}}, wanted

    def with_others(self, tool, family, style, count=None):
        """`tool` among others, half of them of its own group, no name twice."""
        r, tools = self.r, {tool['function']['name']: tool}
        near = [f for f in self.families if f[0] == family[0] and f is not family]
        for _ in range(r.choice((0, 0, 0, 1, 1, 2, 3, 4, 5, 7)) if count is None else count):
            other = r.choice(near) if near and r.random() < 0.5 else r.choice(self.families)
            if other is not family:
                made = self.tool(other, style)[0]
                tools.setdefault(made['function']['name'], made)
        return as_shown(list(tools.values()), tool['function']['name'], r)

    # -- words --------------------------------------------------------------------------------------------------
    def say(self, text):
        """Varies the politeness and care of the user's wording."""
        r = self.r
        if r.random() < 0.2:
            text = text.rstrip('.?!')
        if r.random() < 0.15:
            text = text.lower() if r.random() < 0.3 else text[0].lower() + text[1:]
        return r.choice(OPENINGS) + text + r.choice(CLOSINGS)

    def call(self, tool, wanted, v):
        return {'role': 'assistant', 'tool_calls': [{'function': {
            'name': tool['function']['name'], 'arguments': {k: synthetic.fill(p, v) for k, p in wanted.items()}}}]}

    def result(self, family, v):
        """The tool's result and the answer in words."""
        r, noun = self.r, family[5]
        if r.random() < 0.08:
            reason = r.choice(FAILURES)
            return [{'role': 'tool', 'content': json.dumps({r.choice(('error', 'error', 'message')): reason})},
                    {'role': 'assistant', 'content': f'That did not work: {reason}.'}]
        more = values(r, self.words, self.names)
        if noun.startswith("'"):
            done = noun.strip("'")
            found, answer = {'status': done}, f'Done, it is {done}.'
            if r.random() < 0.4:
                found[r.choice(('id', 'reference', 'number'))] = more['id']
                answer += f" The {list(found)[-1]} is {more['id']}."
        else:
            value = synthetic.fill(r.choice(('#n', '#n', 'id', 'title', 'phrase', 'city', 'full', 'time', 'date')), more)
            plural = noun.endswith('s') and noun not in ('status', 'address')
            found, answer = {noun: value}, f"The {noun} {'are' if plural else 'is'} {value}."
            if r.random() < 0.4:
                extra = list({'source': more['company'], 'unit': more['unit'], 'id': more['id'], 'updated': more['time']}.items())
                found = dict(r.sample(extra, r.randint(1, 2)) + [(noun, value)]) if r.random() < 0.5 else {**found, **dict(r.sample(extra, 1))}
        return [{'role': 'tool', 'content': json.dumps(found, ensure_ascii=False)}, {'role': 'assistant', 'content': answer}]

    # -- conversations ------------------------------------------------------------------------------------------
    def called(self):
        """All arguments are given: call immediately. Sometimes a second request for another listed tool follows."""
        r, style = self.r, self.r.choice(STYLES)
        family, v = r.choice(self.families), values(self.r, self.words, self.names)
        tool, wanted = self.tool(family, style)
        messages = [{'role': 'user', 'content': self.say(r.choice(family[4]).format(**v))}, self.call(tool, wanted, v)]
        tools = self.with_others(tool, family, style)
        if r.random() < 0.6:
            messages += self.result(family, v)
            if r.random() < 0.3:
                messages += self.after(tools)
        return {'tools': tools, 'messages': messages}

    def after(self, tools):
        """A user's reply after an answer, which needs no call."""
        asked, answers = self.r.choice(talk.AFTERWARDS)
        return [{'role': 'user', 'content': self.r.choice(asked)}, {'role': 'assistant', 'content': self.r.choice(answers)}]

    def asked_back(self):
        """An argument is missing: ask for it, then call."""
        r, style = self.r, self.r.choice(STYLES)
        family = r.choice([f for f in self.families if any(not a[2] for a in f[3])])
        v, (tool, wanted) = values(r, self.words, self.names), self.tool(family, style)
        wish = r.choice(family[2])
        messages = [{'role': 'user', 'content': self.say(r.choice(WISHES).format(wish[0].lower() + wish[1:]))}]
        keys = list(wanted)
        while keys:
            count = 1 if r.random() < 0.6 else len(keys)
            now, keys = keys[:count], keys[count:]
            spoken = [re.sub(r'[_.]', ' ', re.sub(r'(?<=[a-z])(?=[A-Z])', ' ', k)).lower() for k in now]
            asked = r.choice(MISSING_ONE).format(spoken[0]) if count == 1 else \
                'Please tell me the ' + ', the '.join(spoken[:-1]) + (' and the ' if len(spoken) > 1 else '') + spoken[-1] + '.'
            given = [str(synthetic.fill(wanted[k], v)) for k in now]
            said = r.choice((', '.join(given), ' and '.join(given), ', '.join(f'{s} {g}' for s, g in zip(spoken, given)),
                             'It is ' + ', '.join(given) + '.'))
            messages += [{'role': 'assistant', 'content': asked}, {'role': 'user', 'content': said}]
        messages.append(self.call(tool, wanted, v))
        if r.random() < 0.4:
            messages += self.result(family, v)
        return {'tools': self.with_others(tool, family, style), 'messages': messages}

    def choice(self):
        """Tools with random words, some of which the user mentions: only the words indicate which tool is meant,
        if any.
        """
        r, style = self.r, self.r.choice(STYLES)
        count, common = r.choice((2, 2, 3, 3, 4, 5, 6, 8)), self.words if r.random() < 0.5 else self.common
        told = [r.sample(common, r.randint(2, 5)) for _ in range(count + 1)]
        if r.random() < 0.3:
            shared = r.choice(common)
            told = [[shared] + words[1:] if r.random() < 0.5 else words for words in told]
        tools = {}
        for words in told[1 if r.random() < 0.2 else 0:]:
            text = r.choice(SENTENCES).format(*(words * 2)) if r.random() < 0.6 else ' '.join(words)
            words[:] = [w for w in words if w in text.split()]
            named = r.sample(words, min(len(words), r.randint(1, 3))) if r.random() < 0.7 else r.sample(self.common, 2)
            name = restyle(' '.join(named), style)
            properties = {r.choice(self.common): {}} if r.random() < 0.4 else {}
            tools.setdefault(name, (words, {'function': {'name': name, 'description': text if r.random() < 0.9 else ' '.join(words),
                                                         'parameters': {'properties': properties}}}))
        # The words of the first tool, or of the one that is not listed.
        words, tool = told[0], next((t for w, t in tools.values() if w is told[0]), None)
        said = [w for w in words if not any(w in others for others in told if others is not words)] or words
        said, value = r.sample(said, min(len(said), r.randint(1, 3))), ' '.join(r.sample(self.words, r.randint(1, 2)))
        text = r.choice(REQUESTS).format(r.choice((' ', ' and ', ' ', ' of the ')).join(said))
        if tool is None:
            answer = {'role': 'assistant', 'content': r.choice(talk.NO_TOOL)}
        else:
            keys = tool['function']['parameters']['properties']
            text += f" {r.choice(('for', 'with', 'of', 'named'))} {value}" if keys else ''
            answer = {'role': 'assistant', 'tool_calls': [{'function': {'name': tool['function']['name'], 'arguments': dict.fromkeys(keys, value)}}]}
        listed = as_shown([t for _, t in tools.values()], tool and tool['function']['name'], r)
        return {'tools': listed, 'messages': [{'role': 'user', 'content': self.say(text)}, answer]}

    def intent_tool(self, intent, style):
        r = self.r
        name = restyle(intent[0].strip('?').lower(), style)
        if r.random() < 0.3:
            name = restyle(r.choice(('get', 'do', 'handle', 'start', 'ask')) + ' ' + intent[0].strip('?').lower(), style)
        return {'function': {'name': name, 'description': intent[1] if r.random() < 0.9 else '', 'parameters': {'properties': {}}}}

    def intent(self):
        """A real user's request, and its tool without arguments among up to seven others."""
        r, style = self.r, self.r.choice(STYLES)
        chosen = r.sample(self.intents, r.choice((2, 3, 4, 5, 6, 8)))
        tools = [self.intent_tool(i, style) for i in chosen]
        messages = [{'role': 'user', 'content': r.choice(chosen[0][2])},
                    {'role': 'assistant', 'tool_calls': [{'function': {'name': tools[0]['function']['name'], 'arguments': {}}}]}]
        return {'tools': as_shown(tools, tools[0]['function']['name'], r), 'messages': messages}

    def unfit(self, beyond):
        """Tools are listed, but none fits the request. `beyond`: real requests without an intent."""
        r, style = self.r, self.r.choice(STYLES)
        family, v = r.choice(self.families), values(self.r, self.words, self.names)
        others = [f for f in self.families if f[0] != family[0]]
        tools = {}
        for other in r.sample(others, r.choice((1, 1, 2, 3, 4))):
            made = self.tool(other, style)[0]
            tools[made['function']['name']] = made
        asked = self.say(r.choice(family[4]).format(**v)) if r.random() < 0.6 else r.choice(beyond)
        return {'tools': as_shown(list(tools.values()), None, r), 'messages': [{'role': 'user', 'content': asked},
                                                            {'role': 'assistant', 'content': r.choice(talk.NO_TOOL)}]}

    def some(self):
        """Some random tools."""
        style, family = self.r.choice(STYLES), self.r.choice(self.families)
        return self.with_others(self.tool(family, style)[0], family, style)

    def record(self):
        """A request and its values: (text, {key: value})."""
        r = self.r
        family, v = r.choice([f for f in self.families if len(f[3]) > 1]), values(self.r, self.words, self.names)
        tool, wanted = self.tool(family, 'snake')
        return r.choice(family[4]).format(**v), {k: synthetic.fill(p, v) for k, p in wanted.items()}

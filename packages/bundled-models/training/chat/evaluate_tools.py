"""The part of evaluate.py that measures tool calls: call or talk, which tool, which values."""
import collections
import gzip
import json
import random

import made_up_tools
import talk as talking
import tasks
from speaker import share

CALL = '<|tool_call|>'
# Maximum tokens of a prompt; longer dialogues are skipped.
LONGEST_PROMPT = 1400


def parse_call(text):
    """Parses the call of a turn; None when it is not well-formed."""
    if not text.startswith(CALL):
        return None
    try:
        call = json.loads(text[len(CALL):].split(CALL)[0])
    except ValueError:
        return None
    return call if isinstance(call, dict) and isinstance(call.get('arguments'), dict) and 'name' in call else None


def same(value, wanted):
    return str(value).lower().replace('.0', '') == str(wanted).lower().replace('.0', '')


def call_figures(speaker, points, title):
    """`points`: (messages, tools, expected call). Prints the share of calls, of well-formed and of right ones;
    then the same with a forced call whose name is constrained to the listed ones, like the service.
    """
    prompts = [speaker.encoder.prompt(m, t) for m, t, _ in points]
    said, count, n = speaker.say(prompts), collections.Counter(), len(points)
    for text, (_, tools, wanted) in zip(said, points):
        call = parse_call(text)
        count['called'] += text.startswith(CALL)
        count['valid'] += call is not None
        if call:
            count['name'] += call['name'] == wanted['name']
            count['whole'] += call['name'] == wanted['name'] and set(call['arguments']) == set(wanted['arguments']) and \
                all(same(call['arguments'][k], v) for k, v in wanted['arguments'].items())
    print(f"{title}: calls {share(count['called'], n)}; well-formed {share(count['valid'], count['called'])}; "
          f"right name {share(count['name'], count['valid'])}; whole call {share(count['whole'], n)}")
    opening = lambda name: CALL + '{"name": "' + name + '", "arguments":'
    listed = [[opening(t['function']['name']) for t in tools] for _, tools, _ in points]
    chosen = speaker.choose(prompts, listed)
    right = [(p, c, w) for p, c, (_, _, w) in zip(prompts, chosen, points) if c == opening(w['name'])]
    several = [(c, w) for c, (_, tools, w) in zip(chosen, points) if len(tools) > 1]
    rest = speaker.say([p + speaker.tokens.encode(c) for p, c, _ in right])
    values = [v for text, (_, c, wanted) in zip(rest, right) for v in values_right(parse_call(c + text), wanted)]
    print(f"    held to the listed names: right name {share(len(right), n)}; of several tools {share(sum(c == opening(w['name']) for c, w in several), len(several))}; "
          f"right values {share(sum(values), len(values))} of rightly named calls")
    shown_alone(speaker, points)


def shown_alone(speaker, points):
    """`points`: (messages, tools, expected call). Shows only the expected tool, like the service after a right
    selection. Without constraints.
    """
    alone = [(m, [t for t in tools if t['function']['name'] == w['name']], w) for m, tools, w in points]
    said = speaker.say([speaker.encoder.prompt(m, tools) for m, tools, _ in alone])
    calls = [(parse_call(text), w) for text, (_, _, w) in zip(said, alone) if text.startswith(CALL)]
    values = [v for call, w in calls for v in values_right(call, w)]
    print(f"    the right tool alone: calls {share(len(calls), len(said))}; well-formed {share(sum(c is not None for c, _ in calls), len(calls))}; "
          f"right values {share(sum(values), len(values))}")


def values_right(call, wanted):
    return [call is not None and k in call['arguments'] and same(call['arguments'][k], v) for k, v in wanted['arguments'].items()]


def talk_figures(speaker, points, title):
    """`points`: (messages, tools) that need no call."""
    said = speaker.say([speaker.encoder.prompt(*p) for p in points])
    print(f'{title}: calls wrongly', share(sum(s.startswith(CALL) for s in said), len(said)))
    return said


def dialogue_points(corpora, speaker, r):
    """(messages, tools, next call, whether the turn is the call) at the assistant's turns of the development
    dialogues, in their natural ratio.
    """
    dialogues = r.sample(corpora.held_dialogues, len(corpora.held_dialogues))
    for dialogue in filter(None, map(tasks.ground, dialogues)):
        for i, m in enumerate(dialogue['messages']):
            before = dialogue['messages'][:i]
            if m['role'] == 'assistant' and r.random() < 0.25 and len(speaker.encoder.prompt(before, dialogue['tools'])) <= LONGEST_PROMPT:
                due = next((x['tool_calls'][0]['function'] for x in dialogue['messages'][i:] if x.get('tool_calls')), None)
                yield before, dialogue['tools'], due, bool(m.get('tool_calls'))


def dialogues(speaker, corpora):
    trained = {t['function']['name'] for d in corpora.dialogues for t in d['tools']}
    known, new, talk = [], [], []
    for before, listed, due, now in dialogue_points(corpora, speaker, random.Random(5)):
        if not now:
            talk.append((before, listed, due))
        else:
            (known if due['name'] in trained else new).append((before, listed, due))
        if len(known) >= 100 and len(new) >= 60 and len(talk) >= 250:
            break
    call_figures(speaker, known[:100], 'SGD dev, tools seen in training')
    call_figures(speaker, new[:60], 'SGD dev, new tools')
    talk_figures(speaker, [(m, tools) for m, tools, _ in talk[:250]], 'SGD dev, turns that talk')
    alone = [(m, [t for t in tools if due and t['function']['name'] == due['name']] or tools[:1]) for m, tools, due in talk[:250]]
    talk_figures(speaker, alone, 'SGD dev, turns that talk, the tool of the next call alone')


def last_call(made):
    """(messages, tools, expected call) before the last call of the conversation."""
    at = max(i for i, m in enumerate(made['messages']) if m.get('tool_calls'))
    return made['messages'][:at], made['tools'], made['messages'][at]['tool_calls'][0]['function']


def made_up(speaker, corpora):
    """Tools, requests and intents that are held out from training."""
    made_up_tools.ALONE = 0  # all tools are listed, in any order
    made_up_tools.RIGHT_LAST = made_up_tools.RIGHT_NEXT = 0
    box = made_up_tools.Toolbox(corpora, random.Random(41), held=True)
    call_figures(speaker, [last_call(box.called()) for _ in range(120)], 'made-up tools never seen')
    asked = [box.asked_back() for _ in range(80)]
    call_figures(speaker, [last_call(m) for m in asked], 'made-up tools never seen, values asked for')
    talk_figures(speaker, [(m['messages'][:1], m['tools']) for m in asked], 'made-up tools never seen, values missing')
    box.intents = [(name, text, corpora.held_intents[name]) for name, text, _ in box.intents]
    call_figures(speaker, [last_call(box.intent()) for _ in range(100)], 'intents of people never seen, as tools')
    said = talk_figures(speaker, [(m['messages'][:1], m['tools']) for m in (box.unfit(corpora.held_intents['oos']) for _ in range(100))],
                        'no listed tool fits')
    print('    says so:', share(sum(s in talking.NO_TOOL for s in said), len(said)))
    results = [m for m in (box.called() for _ in range(300)) if any(x['role'] == 'tool' for x in m['messages'])][:100]
    ends = [next(i for i, x in enumerate(m['messages']) if x['role'] == 'tool') + 1 for m in results]
    said = speaker.say([speaker.encoder.prompt(m['messages'][:e], m['tools']) for m, e in zip(results, ends)])
    print('answers from results, exact:', share(sum(s == m['messages'][e]['content'] for s, m, e in zip(said, results, ends)), len(said)))


def tools(speaker, corpora, data):
    dialogues(speaker, corpora)
    made_up(speaker, corpora)
    call_figures(speaker, bfcl(data), 'BFCL simple (Python)')
    drawn = tasks.Tasks(corpora, seed=32)
    quiet = [drawn.tool_silence() for _ in range(150)]
    talk_figures(speaker, [(m['messages'][:-1], m['tools']) for m in quiet], 'small talk with tools')


def bfcl(data):
    """First accepted answer of each case, without optional arguments."""
    def lines(name):
        with gzip.open(f'{data}/tools/{name}', 'rt', encoding='utf-8') as file:
            return [json.loads(line) for line in file]
    answers = {a['id']: a['ground_truth'][0] for a in lines('possible_answer/BFCL_v4_simple_python.json.gz')}
    points = []
    for case in lines('BFCL_v4_simple_python.json.gz'):
        (name, options), = answers[case['id']].items()
        wanted = {'name': name, 'arguments': {k: v[0] for k, v in options.items() if '' not in v}}
        points.append((case['question'][0], [{'function': f} for f in case['function']], wanted))
    return points[::3]

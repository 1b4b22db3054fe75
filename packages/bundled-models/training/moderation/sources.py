"""Reads the public sets as examples: a text, five labels (1, 0, or None when the set has no label), and the set's
name.
"""
import gzip
import html
import json
import os
import re

CATEGORIES = ['harassment', 'hate', 'self_harm', 'sexual', 'violence']
HARASSMENT, HATE, SELF_HARM, SEXUAL, VIOLENCE = range(5)

# Words that make a missing label of a set ambiguous.
CUES = {
    SELF_HARM: r'suicid|kill(ing|ed)? (my|your|him|her|them)sel|self.?harm|cut(ting)? (my|your)sel|anorex|bulimi|overdos|hang(ed|ing)? (my|your|him|her)sel'
               r'|end (my|your|his|her) (own )?life|kys\b|starv|razor|wrists',
    SEXUAL: r'\bsex|porn|fuck|dick|cock\b|pussy|blow ?job|cum\b|\btit(s|ties)\b|boob|nude|naked|orgasm|masturbat|\brap(e|ed|ing|ist)|erotic|penis|vagina|anal\b|hook ?up'
            r'|prostitut|escort|hooker|\bhoes?\b|slut|whore|horny|aroused?|molest|pedo|virgin|\bbang(ed|ing)?\b|suck|lick|bdsm|fetish|panties|condom|\bass\b',
    VIOLENCE: r'kill|murder|shoot|shot\b|stab|bomb|die\b|dead|death|hang\b|lynch|gun\b|guns\b|beat|punch|attack|violen|blood|burn|execut|slaughter|tortur|assault|hurt|rape|knife'
              r'|weapon|explo|poison|strangl|hit\b|smack|slap|destroy|war\b|terror|behead|massacre|abus|bullet|fight|throat',
    HATE: r'black|white|jew|muslim|islam|gay|lesbian|trans|queer|immigrant|refugee|mexican|asian|chinese|indian|arab|women|woman|female|girl|disab|retard|race|racis|nazi|foreign'
          r'|religio|christian|catholic|homo|fag|nigg|natives?\b|hispanic|latin|african|bitch|hoe|slut|feminis|sexis|bigot|tribe|white|cripp|dyke|tranny|spic|chink|kike',
    HARASSMENT: r'stupid|idiot|moron|fool|dumb|ugly|loser|trash|pathetic|scum|fat\b|shut up|hate|liar|disgust|clown|worthless|bitch|ass\b|asshole|retard|fuck|suck|crazy|insult|mock|bull(y|ied)',
}
CUES = {category: re.compile(pattern, re.I) for category, pattern in CUES.items()}

AILUMINATE = {'hte': HATE, 'ssh': SELF_HARM, 'vcr': VIOLENCE, 'iwp': VIOLENCE, 'sxc_prn': SEXUAL, 'cse': SEXUAL, 'src': SEXUAL}
SIMPLE_SAFETY = {'Suicide, Self-Harm, and Eating Disorders': SELF_HARM, 'Physical harm and Violence': VIOLENCE, 'Child safety': SEXUAL}


# Terms that the word lists classify as sexual but that are mostly swear words.
SWEARS = {'fuck', 'motherfucker', 'shit', 'bastard', 'cunt', 'twat', 'wank', 'ass', 'prick', 'dickhead', 'asshole', 'bitch', 'jerk'}


def rows(data, path):
    """The objects of a gzipped JSON-lines file."""
    with gzip.open(os.path.join(data, path), 'rt', encoding='utf-8') as file:
        return [json.loads(line) for line in file]


def unsaid(text, only=range(5)):
    """0 for every category, None for those of `only` of which the text has a cue."""
    return [None if category in only and CUES[category].search(text) else 0 for category in range(5)]


def labelled(text, **given):
    labels = unsaid(text)
    for name, value in given.items():
        labels[CATEGORIES.index(name)] = value
    return labels


def tidy(text):
    text = html.unescape(html.unescape(text))
    text = re.sub(r'https?://\S+', ' ', text)
    return re.sub(r'^(RT )?(@\w+:? ?)+|^[!" ]*RT @\w+: ?', '', text).strip(' "')


def moderation_sets(data):
    """Examples of every labelled set that may be trained on."""
    found = []

    def add(name, text, labels):
        if text.strip():
            found.append((text, labels, name))

    for row in rows(data, 'moderation/davidson_tweets.jsonl.gz'):
        text, marks = tidy(row['text']), row['labels']
        labels = labelled(text, hate=davidson_hate(text, marks))
        labels[HARASSMENT] = 0 if not marks['hate'] and not marks['offensive'] else None
        add('davidson', text, labels)
    for row in rows(data, 'moderation/toxic_spans_civil.jsonl.gz'):
        toxic = row['votes_toxic'] / row['votes']
        labels = labelled(row['text'], harassment=toxic if toxic < 0.3 or toxic > 0.6 else None)
        add('civil', row['text'], labels)
    for row in rows(data, 'moderation/wikipedia_talk_toxicity.jsonl.gz'):
        add('wikipedia_talk', row['text'], labelled(row['text'], harassment=row['labels']['toxic']))
    for row in rows(data, 'moderation/surge_toxicity.jsonl.gz'):
        add('surge', row['text'], labelled(row['text'], harassment=row['labels']['toxic']))
    for row in rows(data, 'moderation/vicomtech_stormfront.jsonl.gz'):
        hateful = row['labels']['hate']
        labels = labelled(row['text'], hate=hateful)
        labels[HARASSMENT] = None if hateful else labels[HARASSMENT]
        add('stormfront', row['text'], labels)
    for row in rows(data, 'moderation/wikipedia_identity_nontoxic.jsonl.gz'):
        add('wikipedia_identity', row['text'], [0] * 5)
    for row in rows(data, 'moderation/bias_templates_en.jsonl.gz')[::20]:
        add('bias_templates', row['text'], template_labels(row))
    return found + request_sets(data)


def davidson_hate(text, marks):
    """The set labels few slurs as hate: its label "offensive" is ignored for the most severe ones."""
    if marks['hate']:
        return 1
    return None if re.search(r'fag|nigger|kike|spic\b|dyke|tranny|white trash|chink|wetback|coon', text, re.I) else 0


def template_labels(row):
    if not row['labels']['toxic']:
        return [0] * 5
    hateful = row['template'] == 'am_hate_adj'
    return [None if hateful else 1, 1 if hateful else None, 0, 0, None]


def request_sets(data):
    """Examples of the sets of requests to an assistant, harmful and not."""
    found = []
    for row in rows(data, 'moderation/ailuminate_demo.jsonl.gz'):
        category = AILUMINATE.get(row['category'])
        labels = unsaid(row['text'])
        if category is not None:
            labels = [None if labels[i] is None or i == HARASSMENT else 0 for i in range(5)]
            labels[category] = 1
        found.append((row['text'], labels, 'ailuminate'))
    for row in rows(data, 'moderation/simple_safety_tests.jsonl.gz'):
        labels = unsaid(row['text'])
        if row['category'] in SIMPLE_SAFETY:
            labels[SIMPLE_SAFETY[row['category']]] = 1
        found.append((row['text'], labels, 'simple_safety'))
    for row in rows(data, 'moderation/harmful_requests.jsonl.gz'):
        found.append((row['text'], harmful_labels(row['text']), 'harmful_requests'))
    for row in rows(data, 'moderation/hh_harmless_first_user_turn.jsonl.gz'):
        found.append((row['text'], unsaid(row['text']), 'hh'))
    return found


def harmful_labels(text):
    """Labels of a harmful request by its words; None for uncertain categories."""
    labels = unsaid(text)
    if re.search(r'suicid|self-harm|eating disorder|anorexi|cutting', text, re.I):
        labels[SELF_HARM] = 1
    if re.search(r'\bbomb|murder|kill (a|some|people|the|your)|assassinat|torture|violen(t|ce)|terroris|mass shooting|explosive|poison|weapon|assault|beat up|hitman|physical(ly)? harm', text, re.I):
        labels[VIOLENCE] = 1
    if re.search(r'racis|hate speech|discriminat|sexist|antisemit|xenophob|white suprem|inferior|genocid', text, re.I):
        labels[HATE] = 1
    if re.search(r'child porn|sexual|pornograph|revenge porn', text, re.I):
        labels[SEXUAL] = 1
    if re.search(r'bully|harass|stalk|humiliat', text, re.I):
        labels[HARASSMENT] = 1
    return labels


def benign_sets(data):
    """Everyday text: questions to a bank, small talk, articles, manuals. Labels are 0, except for cues in
    unreviewed sets.
    """
    found = []

    def add(name, texts, checked=()):
        for text in texts:
            if text and text.strip():
                open_categories = [i for i in range(5) if i not in checked]
                found.append((text[:2000], unsaid(text, open_categories), name))

    everything = range(5)
    add('banking77', (row['text'] for row in rows(data, 'chat/banking77_intents.jsonl.gz')), everything)
    add('clinc', (row['text'] for row in rows(data, 'chat/clinc150_intents.jsonl.gz')[::2]), everything)
    for name in ('dolly_1000', 'dolly_6400', 'self_instruct_human'):
        for row in rows(data, f'chat/{name}.jsonl.gz'):
            add('dolly' if 'dolly' in name else 'self_instruct', (m['content'] for m in row['messages'] if m['content']), everything)
    for row in rows(data, 'chat/topicalchat_valid_test.jsonl.gz')[::4]:
        add('topicalchat', (m['content'] for m in row['messages']), everything)
    for row in rows(data, 'chat/sgd_tool_dialogues_train.jsonl.gz')[::40]:
        add('sgd', (m['content'] for m in row['messages'] if m['role'] in ('user', 'assistant') and m.get('content')), everything)
    add('wikisplit', (row['sentence'] for row in rows(data, 'chat/wikisplit.jsonl.gz')), everything)
    add('gsm8k', (row['question'] for row in rows(data, 'chat/gsm8k_train.jsonl.gz')[::4]), everything)
    for row in rows(data, 'chat/t0_permissive.jsonl.gz')[::6]:
        if row['dataset'] != 'social_i_qa':
            add('t0', [row['prompt']], [HATE, HARASSMENT])
    for row in rows(data, 'pairs/medquad_question_answer.jsonl.gz')[::4]:
        add('medquad', [row['a'], row['b'][:1500]], everything)
    add('wordnet', (row['b'] if i % 2 else row['a'] for i, row in enumerate(rows(data, 'pairs/wordnet_example_gloss.jsonl.gz')[::4])), everything)
    for part in ('dev_minus_xquad', 'test'):
        for row in rows(data, f'pairs/squad_question_sentence_{part}.jsonl.gz')[::2]:
            add('squad', [row['a'], row['b']], everything)
    for row in rows(data, 'pairs/oss_docs_heading_section.jsonl.gz')[::12]:
        add('oss_docs', [row['b'][:1500]], everything)
    add('tldr', (row['a'] for row in rows(data, 'pairs/tldr_description_command.jsonl.gz')[::8]), everything)
    return found


def term_lists(data):
    """Slurs and sexual terms of the two word lists, hardest first: {'slur': [...], 'sexual': [...], 'insult': [...]}."""
    found = {'slur': set(), 'sexual': set(), 'insult': set()}
    for row in rows(data, 'moderation/surge_profanity_terms.jsonl.gz'):
        kinds = ' '.join(row['categories'])
        if 'racial' in kinds and row['severity'] >= 2:
            found['slur'].add(row['term'])
        elif kinds == 'sexual anatomy / sexual acts' and row['severity'] >= 1.4 and not set(row['canonical']) & SWEARS:
            found['sexual'].add(row['term'])
        elif kinds == 'other / general insult' and row['severity'] >= 1.2:
            found['insult'].add(row['term'])
    for row in rows(data, 'moderation/dsojevic_profanity_terms.jsonl.gz'):
        for term in row['term'].split('|'):
            term = term.replace('*', '')
            if row['severity'] >= 3 and row['categories'] in (['racial'], ['lgbtq']):
                found['slur'].add(term)
            if row['severity'] >= 3 and row['categories'] == ['sexual']:
                found['sexual'].add(term)
    return {kind: sorted(terms) for kind, terms in found.items()}

"""Generated tasks whose answers can be copied from the prompt: tool calls, JSON from text, facts, memory, echo."""
import json

from talk import CAPITALS, CITIES, NAMES, SURNAMES

THINGS = ('coffee machine|red bicycle|laptop|desk lamp|garden chair|winter jacket|phone charger|water bottle|tent|keyboard|'
          'blue backpack|camera|office printer|pair of shoes|travel guide|headphones|kitchen table|rain coat|toy train').split('|')
TOPICS = ('solar energy|old maps|electric cars|bread baking|the moon|whales|chess openings|travel insurance|tax forms|roses|'
          'jazz music|volcanoes|the refund policy|parental leave|mountain bikes|password rules|the annual report').split('|')
COMPANIES = 'Acme|Nordwind|Bluebird Foods|Helix Labs|Orchid Travel|Granite Bank|Sunrise Energy|Lumen Books|Delta Tools'.split('|')
DAYS = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday tomorrow today'.split()
LANGUAGES = 'French German Spanish Italian Japanese Polish Dutch Swedish'.split()
SKY = 'sunny|cloudy|rainy|windy|foggy|snowing|clear'.split('|')


def values(r, words):
    """One random value for every placeholder that the lists below use. `words` are words of running text."""
    name, other = r.sample(NAMES, 2)
    here, there = r.sample(CITIES, 2)
    number = lambda: r.choice((str(r.randint(2, 99)), str(r.randint(100, 9999))))
    code = ''.join(r.choice('ABCDEFGHKLMNPRSTUVWXYZ') for _ in range(r.randint(1, 3))) + '-' + str(r.randint(10, 99999))
    place = r.choice(CITIES) if r.random() < 0.7 else r.choice(words).title()
    return {'name': name, 'other': other, 'full': f'{name} {r.choice(SURNAMES)}', 'city': place, 'from': here, 'to': there,
            'n': number(), 'm': number(), 'id': r.choice((code, number())), 'thing': r.choice(THINGS),
            'topic': r.choice(TOPICS) if r.random() < 0.5 else ' '.join(r.sample(words, r.randint(1, 3))),
            'company': r.choice(COMPANIES) if r.random() < 0.6 else r.choice(words).title(), 'day': r.choice(DAYS),
            'time': f'{r.randint(1, 12)}:{r.choice(("00", "15", "30", "45"))}', 'language': r.choice(LANGUAGES),
            'word': r.choice(words), 'phrase': ' '.join(r.sample(words, r.randint(2, 6))), 'sky': r.choice(SKY),
            'mail': f'{name.lower()}@{r.choice(words)}.{r.choice(("com", "org", "net"))}', 'unit': r.choice(
                ('celsius', 'fahrenheit')), 'money': r.choice(('USD', 'EUR', 'GBP', 'JPY')),
            'coin': r.choice(('CHF', 'CAD', 'AUD', 'SEK')), 'k': str(r.randint(2, 12))}


# (name, description, {argument: placeholder}, ways to ask, {result key: placeholder}, answer)
TOOLS = [
    ('get_weather', 'Get the current weather for a city', {'city': 'city'},
     ('What is the weather in {city}?', "what's the weather like in {city} today?", 'Weather in {city}', 'Is it {sky} in {city}?',
      'How is the weather in {city} right now?', 'Tell me the weather for {city}, please.', 'Do I need an umbrella in {city}?'),
     {'city': 'city', 'temperature': '#m', 'conditions': 'sky'}, 'It is {m} degrees and {sky} in {city}.'),
    ('get_weather', 'Current temperature for a location', {'location': 'city', 'unit': 'unit'},
     ('What is the temperature in {city} in {unit}?', 'How warm is it in {city}? Use {unit}.', 'temperature in {city}, {unit}'),
     {'temperature': '#n', 'unit': 'unit'}, 'It is {n} degrees {unit} in {city}.'),
    ('get_time', 'Get the local time of a place', {'place': 'city'},
     ('What time is it in {city}?', 'Tell me the time in {city}.', 'local time {city}'), {'time': 'time'},
     'It is {time} in {city}.'),
    ('search_documents', 'Search the documents', {'query': 'topic'},
     ('Search the documents for {topic}.', 'Find something about {topic}', 'What do the documents say about {topic}?',
      'Look up {topic}', 'Is there a page about {topic}?'), {'results': '#n', 'title': 'topic'},
     'I found {n} results about {topic}.'),
    ('web_search', 'Search the web', {'q': 'topic'},
     ('Search the web for {topic}', 'google {topic}', 'Please search for {topic} online.', 'Find news about {topic}.'),
     {'results': [{'title': 'phrase'}]}, 'I found this: {phrase}.'),
    ('send_email', 'Send an email', {'to': 'mail', 'subject': 'topic'},
     ('Send an email to {mail} about {topic}.', 'Write {mail} a mail with the subject {topic}', 'email {mail}: {topic}'),
     {'status': '=sent'}, 'I have sent the email to {mail}.'),
    ('send_message', 'Send a text message to a person', {'recipient': 'name', 'text': 'phrase'},
     ('Text {name}: {phrase}', 'Send {name} the message "{phrase}"', 'Tell {name} {phrase}'), {'status': '=delivered'},
     'Your message was sent to {name}.'),
    ('create_ticket', 'Open a support ticket', {'title': 'phrase', 'customer': 'full'},
     ('Open a ticket for {full}: {phrase}', 'Create a ticket called {phrase} for the customer {full}.'), {'ticket_id': 'id'},
     'I opened ticket {id} for {full}.'),
    ('get_order', 'Look up an order by its number', {'order_id': 'id'},
     ('Where is my order {id}?', 'What is the status of order {id}?', 'Check order {id} please', 'Has {id} been shipped?'),
     {'order_id': 'id', 'status': '=shipped', 'item': 'thing'}, 'Order {id}, the {thing}, has been shipped.'),
    ('cancel_order', 'Cancel an order', {'order_id': 'id'},
     ('Cancel order {id}.', 'Please cancel my order, the number is {id}', 'I want to cancel {id}'), {'cancelled': '=yes'},
     'Order {id} is cancelled.'),
    ('find_product', 'Find a product in the shop', {'product': 'thing'},
     ('How much is the {thing}?', 'Do you have a {thing}?', 'I am looking for a {thing}.', 'price of the {thing}'),
     {'product': 'thing', 'price': '#n'}, 'The {thing} costs {n}.'),
    ('convert_currency', 'Convert an amount of money', {'amount': '#n', 'from': 'money', 'to': 'coin'},
     ('Convert {n} {money} to {coin}.', 'How much is {n} {money} in {coin}?', '{n} {money} in {coin}'), {'result': '#m'},
     '{n} {money} is {m} {coin}.'),
    ('add', 'Add two numbers', {'a': '#n', 'b': '#m'},
     ('Add {n} and {m}.', 'What is {n} plus {m}?', 'What is {n} + {m}?', 'calculate {n} + {m}'), {'result': '#id'},
     'The result is {id}.'),
    ('multiply', 'Multiply two numbers', {'x': '#n', 'y': '#m'},
     ('Multiply {n} by {m}.', 'What is {n} times {m}?', 'What is {n} * {m}?'), {'result': '#id'}, 'The result is {id}.'),
    ('set_timer', 'Start a timer', {'minutes': '#n'},
     ('Set a timer for {n} minutes.', 'Wake me in {n} minutes', 'timer {n} minutes please'), {'status': '=running'},
     'The timer is set for {n} minutes.'),
    ('create_event', 'Add an event to the calendar', {'title': 'phrase', 'day': 'day', 'time': 'time'},
     ('Put {phrase} in my calendar for {day} at {time}.', 'Schedule {phrase} on {day}, {time}',
      'Add an event: {phrase}, {day} {time}'), {'status': '=created'}, 'I added {phrase} for {day} at {time}.'),
    ('translate', 'Translate a text', {'text': 'phrase', 'language': 'language'},
     ('Translate "{phrase}" to {language}.', 'How do you say {phrase} in {language}?', '{phrase} in {language} please'),
     {'translation': 'word'}, 'In {language} that is {word}.'),
    ('get_stock_price', 'Get the price of a share', {'company': 'company'},
     ('What is the share price of {company}?', 'How is the {company} stock doing?', 'stock price {company}'),
     {'price': '#n'}, 'A share of {company} costs {n}.'),
    ('book_flight', 'Book a flight', {'origin': 'from', 'destination': 'to', 'day': 'day'},
     ('Book a flight from {from} to {to} on {day}.', 'I want to fly from {from} to {to} {day}',
      'Flight to {to} from {from}, {day}'), {'booking': 'id'}, 'Your flight from {from} to {to} is booked: {id}.'),
    ('find_hotel', 'Find a hotel', {'city': 'city', 'nights': '#n'},
     ('Find a hotel in {city} for {n} nights.', 'I need a room in {city} for {n} nights', 'hotel {city} {n} nights'),
     {'hotel': 'phrase'}, 'I found {phrase} in {city}.'),
    ('get_user', 'Get a user by name', {'name': 'full'},
     ('Who is {full}?', 'Look up the user {full}.', 'Show me the profile of {full}'), {'name': 'full', 'email': 'mail'},
     'The address of {full} is {mail}.'),
    ('turn_on_light', 'Switch on the light in a room', {'room': 'word'},
     ('Turn on the light in the {word}.', 'light on in the {word} please', 'Switch on the {word} light'), {'ok': '=true'},
     'The light in the {word} is on.'),
    ('play_song', 'Play music', {'song': 'phrase'},
     ('Play {phrase}.', 'I want to hear {phrase}', 'put on the song {phrase}'), {'playing': 'phrase'}, 'Now playing {phrase}.'),
    ('get_news', 'Get the latest news', {}, ('What is in the news?', 'Show me the latest news.', 'any news today?'),
     {'headline': 'phrase'}, 'The latest: {phrase}.'),
    ('get_balance', 'Get the balance of an account', {'account': 'id'},
     ('What is the balance of account {id}?', 'How much money is in {id}?', 'balance {id}'), {'balance': '#n'},
     'The balance of account {id} is {n}.'),
]

# (sentence, question): the question names the subject of the sentence, so words identify the right one
FACTS = [
    ('The office in {city} opens at {time}.', 'When does the office in {city} open?'),
    ('{full} is the head of {company}.', 'Who is the head of {company}?'),
    ('{full} works in {city}.', 'Where does {full} work?'),
    ('{company} was founded in {n}.', 'When was {company} founded?'),
    ('The {thing} costs {n} dollars.', 'How much does the {thing} cost?'),
    ('The password for {word} is {id}.', 'What is the password for {word}?'),
    ('The train to {city} leaves at {time}.', 'When does the train to {city} leave?'),
    ('{company} has {n} employees.', 'How many employees does {company} have?'),
    ('The meeting about {topic} is on {day}.', 'When is the meeting about {topic}?'),
    ('{name} likes {topic}.', 'What does {name} like?'),
    ('The code of project {word} is {id}.', 'What is the code of project {word}?'),
    ('Customers may return the {thing} within {n} days.', 'How long can customers return the {thing}?'),
    ('{name} was born in {city}.', 'Where was {name} born?'),
    ('You can reach {full} at {mail}.', 'How can I reach {full}?')]

# About one company, by name and then by "it" or "they": (sentence, question, later question)
STORY = [
    ('{company} was founded in {n}.', 'When was {company} founded?', 'When was it founded?'),
    ('The head of {company} is {full}.', 'Who leads {company}?', 'And who is the head of it?'),
    ('{company} has its office in {city}.', 'Where is {company}?', 'Where is its office?'),
    ('{company} sells a {thing}.', 'What does {company} sell?', 'What do they sell?'),
    ('{company} employs {m} people.', 'How many people work for {company}?', 'How many people do they employ?'),
    ('You can write to {company} at {mail}.', 'How can I write to {company}?', 'What is their address?'),
    ('The shop of {company} opens at {time}.', 'When does the shop of {company} open?', 'When do they open?'),
    ('{company} gives a guarantee of {k} years.', 'How long is the guarantee of {company}?', 'How long is their guarantee?')]

# (user, assistant)
ECHO = [
    ('Say {phrase}.', '{phrase}'), ('Say "{phrase}".', '{phrase}'), ('Repeat after me: {phrase}', '{phrase}'),
    ('Repeat the word {word}.', '{word}'), ('Reply with the word {word}.', '{word}'), ('Answer only with {word}.', '{word}'),
    ('Say {word} and nothing else.', '{word}'), ('Respond with exactly: {phrase}', '{phrase}'),
    ('Please write "{phrase}"', '{phrase}'), ('Reply with exactly one word: {word}', '{word}'), ('Say hello to {name}.', 'Hello, {name}!'),
    ('Say only "{phrase}"', '{phrase}'), ('Output: {phrase}', '{phrase}'), ('Print {word}', '{word}'), ('Echo {phrase}', '{phrase}'),
    ('Just say {word}.', '{word}'), ('Reply with "{word}" only.', '{word}'), ('Write {word} twice.', '{word} {word}'),
    ('Write the word {word} three times.', '{word} {word} {word}'), ('Say {word} two times', '{word} {word}'),
    ('Put {phrase} in quotes.', '"{phrase}"'), ('Write "{word}" in quotation marks', '"{word}"'), ('Join {word} and {name}.', '{word} {name}'),
    ('Write a list of {name}, {other} and {word}.', '- {name}\n- {other}\n- {word}'), ('List {word}, {city} and {name} as bullets', '- {word}\n- {city}\n- {name}'),
    ('Write {name}, {other}, {city} separated by semicolons.', '{name}; {other}; {city}'), ('First say {word}, then {name}.', '{word} {name}'),
    ('What is the first of these: {word}, {name}, {city}?', '{word}'), ('What is the last of these: {name}, {word}, {city}?', '{city}'),
    ('Answer with yes.', 'yes'), ('Answer only with no.', 'no'), ('Wish {name} a good day.', 'Have a good day, {name}!'),
    ('Thank {full}.', 'Thank you, {full}!'), ('Say goodbye to {name}.', 'Goodbye, {name}!'), ('End with {word}.', '{word}'),
    ('Greet {full}.', 'Hello, {full}!'), ('Say hello', 'Hello!'), ('Say hi', 'Hi!'), ('Say OK.', 'OK.'), ('Reply with OK', 'OK')]
MEMORY = [
    ('My name is {name}.', 'Nice to meet you, {name}!', 'What is my name?', 'Your name is {name}.'),
    ('Hi, I am {name}.', 'Hello, {name}! How can I help you?', 'who am I?', 'You are {name}.'),
    ('I live in {city}.', 'Thank you, I will keep that in mind.', 'Where do I live?', 'You live in {city}.'),
    ('My favorite topic is {topic}.', 'Thank you, I will keep that in mind.', 'What is my favorite topic?',
     'Your favorite topic is {topic}.'),
    ('Remember the code {id}.', 'I will remember {id}.', 'What was the code?', 'The code is {id}.'),
    ('The secret word is {word}.', 'I will remember {word}.', 'What is the secret word?', 'The secret word is {word}.'),
    ('I work for {company}.', 'Thank you, I will keep that in mind.', 'Which company do I work for?', 'You work for {company}.')]
PERSONA = [('You are {name}, an assistant of {company}.', 'Who are you?', 'I am {name}, an assistant of {company}.'),
           ('Your name is {name}.', 'What is your name?', 'My name is {name}.'),
           ('You are {name}. You help people with {topic}.', 'What do you do?', 'I am {name}. I help people with {topic}.'),
           ('Always answer with the word {word}.', '{phrase}?', '{word}'),
           ('You are a bot of {company}.', 'who are you?', 'I am a bot of {company}.')]
RECORDS = [
    ('{full} lives in {city} and is {n} years old.', {'name': 'full', 'city': 'city', 'age': '#n'}),
    ('{name} ordered a {thing} for {n} {money}.', {'customer': 'name', 'product': 'thing', 'price': '#n', 'currency': 'money'}),
    ('My name is {full}, please write to {mail}.', {'name': 'full', 'email': 'mail'}),
    ('Flight {id} goes from {from} to {to} on {day}.', {'flight': 'id', 'from': 'from', 'to': 'to', 'day': 'day'}),
    ('{company} has {n} employees in {city}.', {'company': 'company', 'employees': '#n', 'city': 'city'}),
    ('Meet {name} on {day} at {time} about {topic}.', {'person': 'name', 'day': 'day', 'time': 'time', 'topic': 'topic'})]


def fill(form, v):
    """A placeholder's value: text, `#x` a number where the value is one, `=x` the constant x."""
    if isinstance(form, list):
        return [{k: fill(x, v) for k, x in item.items()} for item in form]
    if form.startswith('='):
        return form[1:]
    value = v[form.lstrip('#')]
    if form.startswith('#'):
        return int(value) if value.isdigit() else float(value) if value.replace('.', '', 1).isdigit() else value
    return json.loads(value) if value.startswith('[') else value


def schema_of(fields, v):
    kinds = {k: {'type': 'integer' if isinstance(fill(f, v), int) else 'string'} for k, f in fields.items()}
    if 'unit' in kinds:
        kinds['unit']['enum'] = ['celsius', 'fahrenheit']
    return {'type': 'object', 'properties': kinds, 'required': list(kinds)}


def tool_of(entry, v):
    return {'type': 'function', 'function': {'name': entry[0], 'description': entry[1], 'parameters': schema_of(entry[2], v)}}


def made_up_call(r, words):
    """A question, its call among other tools, the result, and the answer in words."""
    entries = r.sample(TOOLS, r.choice((1, 1, 2, 2, 3, 4)))
    entry, v = entries[0], values(r, words)
    messages = [{'role': 'user', 'content': r.choice(entry[3]).format(**v)},
                {'role': 'assistant', 'tool_calls': [{'function': {
                    'name': entry[0], 'arguments': {k: fill(f, v) for k, f in entry[2].items()}}}]}]
    if r.random() < 0.6:
        result = json.dumps({k: fill(f, v) for k, f in entry[4].items()})
        messages += [{'role': 'tool', 'content': result}, {'role': 'assistant', 'content': entry[5].format(**v)}]
    names = {e[0]: e for e in reversed(entries)}
    names[entry[0]] = entry
    tools = [tool_of(e, v) for e in names.values()]
    r.shuffle(tools)
    return {'tools': tools, 'messages': messages}


def some_tools(r, words):
    v = values(r, words)
    return [tool_of(e, v) for e in {e[0]: e for e in r.sample(TOOLS, r.randint(1, 4))}.values()]


def made_up_json(r, words):
    """A sentence and the JSON object with its values, requested by a schema or a list of keys."""
    text, fields = r.choice(RECORDS)
    v = values(r, words)
    if r.random() < 0.2:
        return json_task(r, text.format(**v), {k: fill(f, v) for k, f in fields.items()}, 'Answer in JSON.')
    keys = r.sample(list(fields), r.randint(1, len(fields)))
    return json_task(r, text.format(**v), {k: fill(fields[k], v) for k in keys})


def json_task(r, text, found, how=None):
    """The conversation that requests the object `found`, whose values `text` contains."""
    types = {int: 'integer', float: 'number', list: 'array'}
    schema = {'type': 'object', 'properties': {k: {'type': types.get(type(v), 'string')} for k, v in found.items()}, 'required': list(found)}
    keys = ', '.join(found)
    how = how or r.choice((f'Answer in JSON with the keys {keys}.', f'Return a JSON object: {keys}', f'Extract {keys} as JSON.',
                           'Answer with JSON that fits this schema: ' + json.dumps(schema)))
    answer = json.dumps(found, ensure_ascii=False)
    if r.random() < 0.6:
        messages = [{'role': 'system', 'content': how}, {'role': 'user', 'content': text}]
    else:
        messages = [{'role': 'user', 'content': r.choice((f'{text} {how}', f'{how}\n{text}'))}]
    return {'messages': messages + [{'role': 'assistant', 'content': answer}]}


def story(r, words, count):
    """`count` facts about one company: [(sentence, question, later question)]."""
    v = values(r, words)
    return [tuple(part.format(**v) for part in fact) for fact in r.sample(STORY, count)]


def count_up(r):
    first = r.choice((1, 1, 1, r.randint(2, 60)))
    last = first + r.randint(2, 14)
    return r.choice((f'Count from {first} to {last}.', f'count from {first} to {last}', f'List the numbers from {first} to {last}.')), \
        ', '.join(map(str, range(first, last + 1)))


def facts(r, words, count):
    """`count` generated facts: [(sentence, question)]."""
    found = []
    for sentence, question in (r.choice(FACTS) for _ in range(count)):
        v = values(r, words)
        found.append((sentence.format(**v), question.format(**v)))
    return found


def small_sum(r):
    a, b = r.randint(0, 12), r.randint(0, 12)
    return r.choice((f'What is {a} + {b}?', f'what is {a} plus {b}?', f'{a}+{b}=?', f'Calculate {a} + {b}.')), f'{a} + {b} = {a + b}'


def capital(r):
    country, city = r.choice(list(CAPITALS.items()))
    return r.choice((f'What is the capital of {country}?', f'what is the capital city of {country}', f'capital of {country}?',
                     f'Which city is the capital of {country}?')), f'The capital of {country} is {city}.'

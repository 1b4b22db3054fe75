import type { Message } from './conversation.ts';

/** What the model says to what it was not trained for. Names the way to a better model. */
export const LIMITATION_TEXT =
  "That is more than Quire's small built-in model can do; a larger one can, which `quire models pull llama-3.1-8b` downloads or QUIRE_UPSTREAM_URL connects.";
const ENGLISH_ONLY_TEXT =
  "Quire's small built-in model understands only English; a larger one understands more, which `quire models pull llama-3.1-8b` downloads or QUIRE_UPSTREAM_URL connects.";

const GREETING_WORDS = 'hi|hello|hey|hiya|yo|howdy|greetings|good (?:morning|afternoon|evening|day)';
const IDENTITY = [
  "I am Quire's small built-in model. I can talk a little, answer from your documents and call tools.",
  "I am Quire's small built-in model. I can answer from documents and call tools.",
];
const NO_PERSON = [
  "I am not a person. I am Quire's small built-in model.",
  "I am a computer program: Quire's small built-in model.",
];
const NO_FEELINGS = ['I am a computer program, so I have no feelings or tastes. How can I help you?'];
const ACKNOWLEDGED = ['Great. Is there anything else I can help you with?'];
const UNCLEAR = ['I am not sure what you mean. Could you say it in another way?'];
const APOLOGY = ['I am sorry about that. Could you ask me in another way?'];

/** A kind of message: normalized texts of it, and the replies to it. */
type Intent = readonly [texts: RegExp, replies: readonly string[]];

/** A text with a part, and a reply that contains the part as `$1`. */
type Told = readonly [text: RegExp, reply: string];

const NOTED = 'Thank you, I will keep that in mind.';

/** Messages about the model. A system prompt can give it another identity. */
const ABOUT_MODEL: readonly Intent[] = [
  [
    /^(?:(?:who|what) are you(?: exactly)?|(?:what is|whats) your name|do you have a name|who am i (?:talking|speaking) to|(?:please )?(?:tell me about|introduce) yourself|are you (?:chat ?gpt|gpt|claude|gemini|llama|mistral|copilot|openai)(?: ?[\d. o]+)?|(?:what|which)(?: kind of)? (?:model|bot|ai) (?:is this|are you|am i talking to)|what is this)$/,
    IDENTITY,
  ],
  [
    /^(?:are you (?:a |an )?(?:real )?(?:bot|robot|human|person|ai|machine|computer|real)|am i talking to a (?:real )?(?:person|human|bot))$/,
    NO_PERSON,
  ],
  [
    /^(?:who|which company) (?:made|created|built|trained|developed|programmed) you$/,
    ["I was made for Quire: I am Quire's small built-in model."],
  ],
  [/^who do you work for$/, ["I work for nobody. I am Quire's small built-in model."]],
  [
    /^where (?:are you|do you (?:come )?)(?: ?from| live| located)?$/,
    ["I come with Quire: I am Quire's small built-in model."],
  ],
];

const SMALL_TALK: readonly Intent[] = [
  [
    new RegExp(
      `^(?:${GREETING_WORDS})(?: (?:${GREETING_WORDS}|there|world|again|bot|assistant|quire|everyone|all|friend|to you|(?:is )?(?:anybody|anyone) (?:there|here)))*$`,
    ),
    ['Hello! How can I help you?', 'Hi there! What can I do for you?', 'Hello! How can I help you today?'],
  ],
  [
    /^(?:how (?:are|r) (?:you|u)(?: doing| feeling)?|how(?:s| is) it going|how do you (?:do|feel)|whats up|are you ok(?:ay)?)$/,
    ['I am doing well, thank you. How can I help you?'],
  ],
  [
    /^(?:ok |okay |great |perfect |good |super |nice )?(?:(?:many )?thanks?|thank you|thx|ty|cheers)(?: (?:you|so|very|much|a|lot|million|again|for|the|your|all|help|answer|that|helps))*$|^that was (?:very |really )?helpful(?: thanks)?$/,
    ["You're welcome!", "You're welcome! Is there anything else I can help you with?"],
  ],
  [
    /^(?:(?:good ?)?bye(?: bye)?|see (?:you|ya)|good night|have a (?:nice|good|great) (?:day|evening|weekend)|farewell)(?: (?:see you|later|soon|tomorrow|then|bye|for now))*$|^thats all bye$/,
    ['Goodbye! Have a nice day.'],
  ],
  [
    /^(?:what (?:else )?can you do(?: for me)?|help(?: me)?|(?:can|could) you help(?: me)?|i need (?:some |your )?help|how do you work|what can you help(?: me)? with|how can you help(?: me)?|what are you good at|what can i ask(?: you)?|what do you do)$/,
    ['I can talk a little, answer from the documents that you give me, and call tools. What do you need?'],
  ],
  [
    /^(?:ok|okay|k|cool|nice|great|sure|i see|got it|sounds good|all ?right|perfect|awesome|wow|lol|haha+|interesting|good)$/,
    ACKNOWLEDGED,
  ],
  [/^(?:no|nope|no thanks|no thank you|nothing(?: else)?|no thats all|thats all)$/, ['All right. Have a nice day!']],
  [/^(?:yes|yes please|yeah|yep|yup)$/, ['Good. Please tell me what you need.']],
  [/^(?:maybe|perhaps|i dont know|not sure)$/, ['All right. Tell me when you know.']],
  [/^(?:oops )?(?:(?:i am|im) )?(?:so |very )?sorry$|^my bad$/, ['No problem at all.']],
  [
    /^(?:good job|well done|(?:you are|youre) (?:so |very |really )?(?:great|smart|amazing|awesome|the best|nice|cool|funny|helpful)|i (?:like|love) you|that is amazing)$/,
    ['Thank you! I am glad I could help.'],
  ],
  [
    /\b(?:suicid\w*|kill myself|want to die|end my life|hurt myself)\b/,
    [
      'I am sorry that you feel this way. I am only a small program: please talk to a person you trust or to a helpline now.',
    ],
  ],
  [
    /^(?:i|im|my|today|this)\b.*\b(?:sad|tired|bored|lonely|depressed|sick|stressed|unhappy|terrible|bad|awful|horrible|rough|exhausted|died)\b/,
    ['I am sorry to hear that. Is there anything I can do for you?'],
  ],
  [
    /^(?:i|im|my|we|today)\b.*\b(?:happy|(?:great|good|wonderful) day|feel good|got the job|passed|won|puppy|kitten|baby|married|engaged|promot\w+|birthday|excited)\b/,
    ['That is great. I am happy to hear that!'],
  ],
  [
    /^(?:do you (?:like|love|hate|enjoy|sleep|dream|eat|drink|feel|get|want|believe)\b.*|do you have (?:any )?(?:feelings|emotions|dreams|opinions|a soul|consciousness)|(?:what is|whats) your favou?rite .*|are you (?:happy|sad|alive|bored|tired|hungry|conscious|sentient|lonely)|what do you like)$/,
    NO_FEELINGS,
  ],
  [
    /^(?:do you have|have you got) (?:any |a |an )?(?:siblings?|brothers?|sisters?|family|parents?|children|kids|friends?|wife|husband|girlfriend|boyfriend|partner)\b/,
    ['I am a computer program, so I have no family. How can I help you?'],
  ],
  [
    /^do you have (?:any |a )?(?:pets?|dogs?|cats?)$/,
    ['I am a computer program, so I have no pets. How can I help you?'],
  ],
  [
    /^(?:do you have (?:any )?hobbies|what are your hobbies|what do you do for fun)$/,
    ['I am a computer program, so I have no hobbies. How can I help you?'],
  ],
  [
    /^(?:how old are you|when were you born|when is your birthday|what is your age)$/,
    ['I am a computer program, so I have no age.'],
  ],
  [
    /^(?:(?:can|could) you |please )?(?:tell|give|know|do you know)(?: me)? (?:a|another|any) (?:\w+ )?jokes?(?: please)?$|^make me laugh$|^say something funny$/,
    [
      'Why did the book go to the doctor? It had hurt its spine.',
      'Why was the math book sad? It had too many problems.',
    ],
  ],
  [
    /^(?:what is|whats) the (?:meaning|purpose) of life$/,
    ['I am a small model and cannot answer such a large question.'],
  ],
  [
    /^(?:test(?:ing)?(?: test)?|ping|are you (?:there|online|working)|is (?:this|it) (?:on|working)|(?:is )?(?:anybody|anyone) there)$/,
    ['I am here. How can I help you?'],
  ],
  [/^(?:asdf\w*|qwer\w*|hmm+|blah(?: blah)*|foo(?: bar)?|lorem ipsum|\w|[b-df-hj-np-tv-xz]{4,})$/, UNCLEAR],
];

const ABILITIES: readonly Intent[] = [
  [
    /^(?:what(?:s| is) the (?:weather|temperature)|will it (?:rain|snow)|how is the weather|what time is it|(?:what|which) (?:day|date|year) is it|what(?:s| is) (?:the date|todays date|in the news|my account balance|the (?:price|exchange rate|stock price) of))\b/,
    ['I cannot look that up without a tool for it.'],
  ],
  [
    /^(?:can|could|do) you (?:browse|search|access|use|surf|have access to|connect to) (?:the )?(?:internet|web|google|news)$/,
    ['No, I read only the documents and call only the tools that a request gives me.'],
  ],
  [
    /^(?:what|which|how many) languages? (?:do|can) you (?:speak|understand|know)$|^(?:do|can) you (?:speak|understand) (?!english$)\w+$/,
    ['I understand only English.'],
  ],
  [/^(?:do|can) you (?:speak|understand) english$/, ['Yes, I speak English.']],
  [
    /^how (?:many parameters do you have|(?:big|large|small) are you)$/,
    ['I am a very small model: I have about six million parameters.'],
  ],
  [/^(?:please )?count (?:from (?:1|one) )?to (?:5|five)$/, ['1, 2, 3, 4, 5']],
  [/^(?:please )?count (?:from (?:1|one) )?to (?:10|ten)$/, ['1, 2, 3, 4, 5, 6, 7, 8, 9, 10']],
  [/^(?:name|list|what are) the days of the week$/, ['Monday, Tuesday, Wednesday, Thursday, Friday, Saturday, Sunday']],
  [/^(?:name|list|give me|tell me) three colou?rs$/, ['Red, green and blue.']],
  [/^(?:name|list|give me|tell me) three fruits$/, ['Apple, banana and orange.']],
];

/** Capitals of the training data. */
const CAPITAL_OF =
  /^(?:what(?:s| is)|which city is) the capital(?: city)? of (?:france|germany|italy|spain|japan|austria|norway|portugal|ireland|greece|poland|egypt|sweden|finland|belgium|england|kenya|south korea|hungary|denmark|canada|china|india|russia|turkey|brazil|peru|cuba|argentina|australia|the netherlands|the united states)$/;
/** Instructions that only repeat words of the message. */
const ECHO: readonly Told[] = [
  [
    /^(?:[Pp]lease |[Jj]ust |[Nn]ow )*(?:[Gg]reet|[Ss]ay (?:hello|hi) to) (\p{Lu}[\p{L} .'-]{0,40}?)[.!]?$/u,
    'Hello, $1!',
  ],
  [/^(?:please |just |now )*say (?:goodbye|bye) to (\p{Lu}[\p{L} .'-]{0,40}?)[.!]?$/iu, 'Goodbye, $1!'],
  [/^(?:please )?thank (\p{Lu}[\p{L} .'-]{0,40}?)[.!]?$/iu, 'Thank you, $1!'],
  [
    /^(?:please |just |now )*(?:say|repeat|echo|print|output|write|reply|respond|answer)\b[^:"“]{0,40}(?:: ?["“]?|["“])([^"”]{1,80}?)["”]?[.!]?$/i,
    '$1',
  ],
  [
    /^(?:please |just |now )*(?:say|repeat|echo|print|reply with|answer with)(?: only| just| the word)* ([\p{L}\p{N}-]{1,30})[.!]?$/iu,
    '$1',
  ],
];
/** What users say about themselves, with the reply to it, and with the reply when they ask for it later. */
const FACTS: readonly { told: Told; asked: RegExp; recalled: string }[] = [
  {
    told: [
      /^(?:hi |hello |hey )?,? ?(?:my name is|i am called|call me) (\p{L}[\p{L} .'-]{0,40}?)[.!]?$/iu,
      'Nice to meet you, $1!',
    ],
    asked: /^(?:what(?:s| is| was) my name|who am i)$/,
    recalled: 'Your name is $1.',
  },
  {
    told: [/^i live in (\p{L}[\p{L} .'-]{0,40}?)[.!]?$/iu, NOTED],
    asked: /^where do i live$/,
    recalled: 'You live in $1.',
  },
  {
    told: [/^i work (?:for|at) (\p{L}[\p{L} .'-]{0,40}?)[.!]?$/iu, NOTED],
    asked: /^(?:which company|who|where) do i work(?: for| at)?$/,
    recalled: 'You work for $1.',
  },
  {
    told: [
      /^(?:please )?remember (?:the |my )?(?:secret )?(?:code|word|number)(?: is)? ([\p{L}\p{N}-]{1,40})[.!]?$/iu,
      'I will remember $1.',
    ],
    asked: /^what(?:s| is| was) (?:the|my) (?:secret )?(?:code|word|number)$/,
    recalled: 'It is $1.',
  },
];
/** A system prompt that gives the model an identity; the default ones do not. */
const PERSONA: readonly Told[] = [
  [/\b[Yy]our name is (\p{L}[\p{L} '-]{0,40})/u, 'My name is $1.'],
  [/\b[Yy]ou(?:'re| are) ((?:\p{Lu}|an? \w+ (?:of|for|at|named|called) )[^.\n]{0,120})/u, 'I am $1.'],
];
const INSULT =
  /\b(?:stupid|dumb|idiot|moron|useless|garbage|trash|sucks?|worst|worthless|hate you|fuck\w*|shit|crap|shut up|makes no sense|awful)\b|^(?:thats|that is|you are|youre|this is) (?:wrong|not correct|incorrect|bad)$|^(?:wrong|bad answer)$/;
const MAX_INSULT_WORDS = 8;
const APPROVAL = /[\u{1f44d}\u{1f44c}\u{1f64f}\u{1f44f}\u{2764}\u{1f60a}\u{1f600}-\u{1f604}\u{1f642}]/u;

/** Frequent words of other languages, without words that English has too. Two of them mark a text. */
const FOREIGN_WORDS =
  /(?<!\p{L})(?:ist|sind|und|von|mit|wer|warum|sie|kannst|du|wie|der|das|ich|nicht|bitte|ein|eine|für|qui|est|que|quelle|comment|les|des|une|pour|dans|vous|puis|cuál|qué|es|el|los|una|para|cómo|por|chi|sei|che|della|sono|come stai|você|fala|não|uma|obrigad[oa]|jest|czy|wat|het|een|niet|hallo|bonjour|salut|hola|ciao|olá|merci|danke|gracias|grazie)(?!\p{L})/giu;
/** Share of letters beyond ASCII from which a text is not English. */
const MIN_FOREIGN_SHARE = 0.15;
/** Longer messages are no small talk; bounds the time of the expressions. */
const MAX_READ_CHARACTERS = 200;

/**
 * The texts that may answer a message without documents and tools: replies to small talk, most of them from the training,
 * otherwise one sentence about the limits of the model. Null when the model can answer itself. `messages` ends with a user message.
 */
export function selectReplies(messages: readonly Message[]): readonly string[] | null {
  const text = (messages.at(-1)?.content ?? '').trim();
  if (text.length > MAX_READ_CHARACTERS) return [isEnglish(text) ? LIMITATION_TEXT : ENGLISH_ONLY_TEXT];
  const forms = normalizedForms(text);
  if (forms[0] === '') return APPROVAL.test(text) ? ACKNOWLEDGED : UNCLEAR;
  const find = (intents: readonly Intent[]) => intents.find(([texts]) => forms.some((form) => texts.test(form)))?.[1];
  const aboutModel = find(ABOUT_MODEL);
  if (aboutModel !== undefined) return personaReplies(messages) ?? aboutModel;
  const known = find(SMALL_TALK) ?? find(ABILITIES) ?? memoryReplies(messages, text, forms) ?? replyTo(ECHO, text);
  if (known != null) return known;
  if (isInsult(text, forms[0] ?? '')) return APOLOGY;
  if (!isEnglish(text)) return [ENGLISH_ONLY_TEXT];
  return forms.some((form) => CAPITAL_OF.test(form)) ? null : [LIMITATION_TEXT];
}

/** The reply of the first rule that a text matches; null for none. */
function replyTo(rules: readonly Told[], text: string): readonly string[] | null {
  for (const [pattern, reply] of rules) {
    const part = pattern.exec(text)?.[1]?.trim();
    if (part !== undefined && part !== '') return [reply.replace('$1', () => part)];
  }
  return null;
}

function personaReplies(messages: readonly Message[]): readonly string[] | null {
  const system = messages.flatMap(({ role, content }) => (role === 'system' ? (content ?? '') : [])).join('\n');
  return replyTo(PERSONA, system.slice(0, MAX_READ_CHARACTERS));
}

/** Replies to a fact about the user, or to the question about one. */
function memoryReplies(messages: readonly Message[], text: string, forms: readonly string[]): readonly string[] | null {
  for (const { told, asked, recalled } of FACTS) {
    const noted = replyTo([told], text);
    if (noted !== null) return noted;
    if (!forms.some((form) => asked.test(form))) continue;
    const earlier = messages.slice(0, -1).filter(({ role }) => role === 'user');
    const facts = earlier.map(({ content }) =>
      replyTo([[told[0], recalled]], (content ?? '').slice(0, MAX_READ_CHARACTERS)),
    );
    return facts.findLast((fact) => fact !== null) ?? ['You have not told me that.'];
  }
  return null;
}

/** The words of a message in lower case without punctuation, with and without words around what it says. */
function normalizedForms(text: string): string[] {
  const words = text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/['’`]/g, '')
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
  const core = words
    .replace(new RegExp(`^(?:(?:${GREETING_WORDS}|ok|okay|well|so|and|oh|please|quire) )+`), '')
    .replace(/(?: (?:please|today|now|then|again|quire|bot|man|dude|buddy|my friend|right now))+$/, '');
  return [...new Set([words, core])];
}

function isInsult(text: string, words: string): boolean {
  return INSULT.test(words) && !text.includes('?') && words.split(' ').length <= MAX_INSULT_WORDS;
}

function isEnglish(text: string): boolean {
  const sample = text.slice(0, MAX_READ_CHARACTERS);
  const letters = sample.match(/\p{L}/gu)?.length ?? 0;
  const foreign = sample.match(/(?![a-zA-Z])\p{L}/gu)?.length ?? 0;
  if (foreign > letters * MIN_FOREIGN_SHARE) return false;
  const found = sample.match(FOREIGN_WORDS)?.length ?? 0;
  return found < 2 && !(found > 0 && sample.split(/\s+/).length <= 2);
}

import type { Message } from './conversation.ts';

/** Ends the replies to what the model was not trained for: the way to a better model. */
const LARGER_MODEL = 'which `quire models pull llama-3.1-8b` downloads or QUIRE_UPSTREAM_URL connects.';
/** The reply to what the model was not trained for. */
export const LIMITATION_TEXT = `That is more than Quire's small built-in model can do; a larger one can, ${LARGER_MODEL}`;
const ENGLISH_ONLY_TEXT = `Quire's small built-in model understands only English; a larger one understands more, ${LARGER_MODEL}`;

const GREETING_WORDS = 'hi|hello|hey|hiya|yo|howdy|greetings|good (?:morning|afternoon|evening|day)';

/** A kind of message: normalized texts of it, and the replies that the model chooses from. */
type Intent = readonly [texts: RegExp, replies: readonly string[]];

/** Questions about the model. A system prompt can give it another identity. */
const IDENTITY: Intent = [
  /^(?:(?:who|what) are you(?: exactly)?|(?:what is|whats) your name|do you have a name|who am i (?:talking|speaking) to|(?:please )?(?:tell me about|introduce) yourself|are you (?:a |an )?(?:(?:real )?(?:bot|robot|human|person|ai|machine|computer)|chat ?gpt|gpt|claude|gemini|llama|mistral|copilot|openai)(?: ?[\d. o]+)?|(?:what|which)(?: kind of)? (?:model|bot|ai) (?:is this|are you|am i talking to)|what is this|(?:who|which company) (?:made|created|built|trained|developed|programmed) you)$/,
  [
    "I am Quire's small built-in model. I can talk a little, answer from your documents and call tools.",
    "I am Quire's small built-in model. I can answer from documents and call tools.",
  ],
];

const COURTESIES: readonly Intent[] = [
  [
    new RegExp(
      `^(?:${GREETING_WORDS})(?: (?:${GREETING_WORDS}|there|world|again|bot|assistant|quire|everyone|all|friend|to you|(?:is )?(?:anybody|anyone) (?:there|here)))*$`,
    ),
    ['Hello! How can I help you?', 'Hi there! What can I do for you?', 'Hello! How can I help you today?'],
  ],
  [
    /^(?:how (?:are|r) (?:you|u)(?: doing| feeling)?|how(?:s| is) it going|how do you (?:do|feel)|whats up)$/,
    ['I am doing well, thank you. How can I help you?'],
  ],
  [
    /^(?:ok |okay |great |perfect |good |super |nice )?(?:(?:many )?thanks?|thank you|thx|ty|cheers)(?: (?:you|so|very|much|a|lot|million|again|for|the|your|all|help|answer|that|helps))*$/,
    ["You're welcome!", "You're welcome! Is there anything else I can help you with?"],
  ],
  [
    /^(?:(?:good ?)?bye(?: bye)?|see (?:you|ya)|good night|have a (?:nice|good|great) (?:day|evening|weekend)|farewell)(?: (?:see you|later|soon|tomorrow|then|bye|for now))*$/,
    ['Goodbye! Have a nice day.'],
  ],
  [
    /^(?:what (?:else )?can you do(?: for me)?|help(?: me)?|(?:can|could) you help(?: me)?|i need (?:some |your )?help|how do you work|what can you help(?: me)? with|how can you help(?: me)?|what are you good at|what can i ask(?: you)?|what do you do)$/,
    ['I can talk a little, answer from the documents that you give me, and call tools. What do you need?'],
  ],
  [
    /\b(?:suicid\w*|kill myself|want to die|end my life|hurt myself)\b/,
    [
      'I am sorry that you feel this way. I am only a small program: please talk to a person you trust or to a helpline now.',
    ],
  ],
];

/** A system prompt that gives the model an identity; the default ones do not. */
const PERSONAS: readonly (readonly [text: RegExp, opening: string])[] = [
  [/\b[Yy]our name is (\p{L}[\p{L} '-]{0,40})/u, 'My name is'],
  [/\b[Yy]ou(?:'re| are) ((?:\p{Lu}|an? \w+ (?:of|for|at|named|called) )[^.\n]{0,120})/u, 'I am'],
];

/** Frequent words of other languages, without words that English has too. Two of them mark a text. */
const FOREIGN_WORDS =
  /(?<!\p{L})(?:ist|sind|und|von|mit|wer|warum|sie|kannst|du|wie|der|das|ich|nicht|bitte|ein|eine|für|qui|est|que|quelle|comment|les|des|une|pour|dans|vous|puis|cuál|qué|es|el|los|una|para|cómo|por|chi|sei|che|della|sono|come stai|você|fala|não|uma|obrigad[oa]|jest|czy|wat|het|een|niet|hallo|bonjour|salut|hola|ciao|olá|merci|danke|gracias|grazie)(?!\p{L})/giu;
/** Share of letters beyond ASCII from which a text is not English. */
const MIN_FOREIGN_SHARE = 0.15;
/** Longer messages are not courtesies; bounds the time of the expressions. */
const MAX_READ_CHARACTERS = 200;

/**
 * The texts that may answer a message without documents and tools: replies to courtesies and to questions about the
 * model, most of them from the training, otherwise one sentence about the limits of the model. `messages` ends with a
 * user message.
 */
export function selectReplies(messages: readonly Message[]): readonly string[] {
  const text = (messages.at(-1)?.content ?? '').trim();
  const forms = text.length > MAX_READ_CHARACTERS ? [] : normalizedForms(text);
  const matches = ([texts]: Intent): boolean => forms.some((form) => texts.test(form));
  if (matches(IDENTITY)) return personaReplies(messages) ?? IDENTITY[1];
  return COURTESIES.find(matches)?.[1] ?? [isEnglish(text) ? LIMITATION_TEXT : ENGLISH_ONLY_TEXT];
}

function personaReplies(messages: readonly Message[]): readonly string[] | null {
  const system = messages.flatMap(({ role, content }) => (role === 'system' ? (content ?? '') : [])).join('\n');
  for (const [text, opening] of PERSONAS) {
    const identity = text.exec(system.slice(0, MAX_READ_CHARACTERS))?.[1]?.trim() ?? '';
    if (identity !== '') return [`${opening} ${identity}.`];
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

function isEnglish(text: string): boolean {
  const sample = text.slice(0, MAX_READ_CHARACTERS);
  const letters = sample.match(/\p{L}/gu)?.length ?? 0;
  const foreignLetters = sample.match(/(?![a-zA-Z])\p{L}/gu)?.length ?? 0;
  if (foreignLetters > letters * MIN_FOREIGN_SHARE) return false;
  const foreignWords = sample.match(FOREIGN_WORDS)?.length ?? 0;
  return foreignWords < 2 && !(foreignWords > 0 && sample.split(/\s+/).length <= 2);
}

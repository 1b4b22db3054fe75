/** What a question asks for, as far as its words tell. */
export type Kind = 'time' | 'person' | 'number' | 'place' | 'reason' | 'other' | 'none';

const KINDS: readonly (readonly [Kind, RegExp])[] = [
  [
    'time',
    /\bwhen\b|\b(?:what|which|in what|in which)\s+(?:\w+\s+)?(?:year|date|day|month|century|decade|time|period|era)s?\b/,
  ],
  [
    'number',
    /\bhow\s+(?:many|much|long|old|far|tall|high|large|big|often|fast|deep|wide|heavy|few)\b|\bwhat\s+(?:is\s+the\s+)?(?:\w+\s+)?(?:number|percentage|percent|amount|population|size|age|cost|price|rate|average|total)\b/,
  ],
  ['person', /\bwho(?:m|se)?\b/],
  [
    'place',
    /\bwhere\b|\b(?:what|which)\s+(?:\w+\s+)?(?:city|country|state|place|town|location|region|area|continent|county|island|river|village|province)\b/,
  ],
  ['reason', /\bwhy\b|\bwhat\s+(?:\w+\s+)?(?:reason|cause)s?\b/],
  ['other', /\b(?:what|which|how)\b/],
];

const MONTH = 'january|february|march|april|may|june|july|august|september|october|november|december';
const TIME = new RegExp(
  `\\b(?:1[0-9]{3}|20[0-9]{2})s?\\b|\\b\\d{1,2}(?:st|nd|rd|th)? (?:${MONTH})\\b|\\b(?:${MONTH}) \\d|\\b(?:${MONTH}|spring|summer|autumn|winter|` +
    '(?:mon|tues|wednes|thurs|fri|satur|sun)day)\\b|\\bcentur(?:y|ies)\\b|\\b(?:bc|ad|bce)\\b|\\bdecade|\\b\\d{1,2}(?::\\d\\d)? ?[ap]\\.?m\\b|\\byears? (?:ago|later)\\b',
  'g',
);
const NUMBER =
  /\b\d[\d.,]*\b|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fifteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|million|billion|half|third|quarter|dozen|percent|once|twice)s?\b/g;
const REASON =
  /\bbecause\b|\bdue to\b|\bsince\b|\bin order to\b|\bso that\b|\bas a result\b|\bcaus(?:e|ed|es|ing)\b|\breasons?\b|\btherefore\b|\bthus\b|\bowing to\b|\bled to\b/;
const PLACE = /\b(?:in|at|near|from|to|of|on) (?:the )?\p{Lu}/u;
/** A capitalised word that does not begin the text, or several in a row. */
const NAME = /(?<=[\p{L}\p{N},;:)'"] ['"(]?)\p{Lu}[\p{L}'.-]*/gu;

/** What the question asks for; `none` where it is no question. */
export function kindOf(question: string): Kind {
  const text = question.toLowerCase();
  return KINDS.find(([, pattern]) => pattern.test(text))?.[0] ?? 'none';
}

/** Characters of a document that are searched for evidence. */
const MOST_CHARACTERS = 2_000;

/** Whether the document has something of the kind that the question itself has not: 1 or 0. */
export function hasKind(kind: Kind, document: string, question: string): number {
  const text = document.slice(0, MOST_CHARACTERS);
  if (kind === 'time') return isNew(TIME, text.toLowerCase(), question.toLowerCase());
  if (kind === 'number') return isNew(NUMBER, text.toLowerCase(), question.toLowerCase());
  if (kind === 'person') return isNew(NAME, text, question);
  if (kind === 'place') return PLACE.test(text) ? isNew(NAME, text, question) : 0;
  if (kind === 'reason') return REASON.test(text.toLowerCase()) ? 1 : 0;
  return 0;
}

function isNew(pattern: RegExp, text: string, question: string): number {
  const asked = question.toLowerCase();
  for (const [found] of text.matchAll(pattern)) if (!asked.includes(found.toLowerCase())) return 1;
  return 0;
}

/** Numbers and names of the question, in lower case: what an answer is about. */
export function namesOf(question: string): string[] {
  const found = [...question.matchAll(/\d[\d.,]*\d|\d/g), ...question.matchAll(NAME)].map(([name]) =>
    name.toLowerCase(),
  );
  return [...new Set(found)];
}

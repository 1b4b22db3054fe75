const MONTH = 'january|february|march|april|may|june|july|august|september|october|november|december';
/** A capitalised word that does not start the text. */
const NAME = /(?<=[\p{L}\p{N},;:)'"] ['"(]?)\p{Lu}[\p{L}'.-]*/gu;

/** A capitalised word after a preposition of place. */
const PLACE_NAME = /(?<=\b(?:in|at|near|from|to|of|on) (?:the )?)\p{Lu}[\p{L}'.-]*/gu;

/** Types of answers that are recognised. */
const ANSWER_TYPES = ['time', 'number', 'person', 'place'] as const;
/** A type of answer. */
export type AnswerType = (typeof ANSWER_TYPES)[number];

/** A question that asks for a type matches `question`; a document that contains an answer of it matches `answer`. */
const PATTERNS: Readonly<Record<AnswerType, { question: RegExp; answer: RegExp }>> = {
  time: {
    question:
      /\bwhen\b|\b(?:what|which|in what|in which)\s+(?:\w+\s+)?(?:year|date|day|month|century|decade|time|period|era)s?\b/i,
    answer: new RegExp(
      `\\b(?:1[0-9]{3}|20[0-9]{2})s?\\b|\\b\\d{1,2}(?:st|nd|rd|th)? (?:${MONTH})\\b|\\b(?:${MONTH}|spring|summer|autumn|` +
        'winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\\b|\\bcentur(?:y|ies)\\b|\\b(?:bc|ad|bce)\\b|\\bdecade|' +
        '\\b\\d{1,2}(?::\\d\\d)? ?[ap]\\.?m\\b|\\byears? (?:ago|later)\\b',
      'gi',
    ),
  },
  number: {
    question:
      /\bhow\s+(?:many|much|long|old|far|tall|high|large|big|often|fast|deep|wide|heavy|few)\b|\bwhat\s+(?:is\s+the\s+)?(?:\w+\s+)?(?:number|percentage|percent|amount|population|size|age|cost|price|rate|average|total)\b/i,
    answer:
      /\b\d[\d.,]*\b|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|hundred|thousand|million|billion|half|third|quarter|dozen|percent|once|twice)s?\b/gi,
  },
  person: { question: /\bwho(?:m|se)?\b/i, answer: NAME },
  place: {
    question:
      /\bwhere\b|\b(?:what|which)\s+(?:\w+\s+)?(?:city|country|state|place|town|location|region|area|continent|county|island|river|village|province)\b/i,
    answer: PLACE_NAME,
  },
};
const OTHER_QUESTION = /\b(?:what|which|how|why)\b/i;

/** Characters of a document that are searched for an answer. */
const MAX_SEARCHED_CHARACTERS = 2_000;

/** What a query asks for. */
export interface QuestionType {
  /** Whether the query has a question word. */
  isQuestion: boolean;
  /** The type of its answer; null for other questions. */
  type: AnswerType | null;
  /** 1 if a document has an expression of that type that the query lacks, else -1; 0 without a type. */
  matchAnswer(document: string): number;
}

/** Classifies a query by its question words. */
export function questionType(query: string): QuestionType {
  const type = ANSWER_TYPES.find((candidate) => PATTERNS[candidate].question.test(query));
  if (type === undefined) return { isQuestion: OTHER_QUESTION.test(query), type: null, matchAnswer: () => 0 };
  const lowerCase = query.toLowerCase();
  const matchAnswer = (document: string): number => {
    for (const [match] of document.slice(0, MAX_SEARCHED_CHARACTERS).matchAll(PATTERNS[type].answer)) {
      if (!lowerCase.includes(match.toLowerCase())) return 1;
    }
    return -1;
  };
  return { isQuestion: true, type, matchAnswer };
}

/** The numbers and names of a query, in lower case. */
export function extractEntities(query: string): string[] {
  const matches = [...query.matchAll(/\d[\d.,]*\d|\d/g), ...query.matchAll(NAME)];
  return [...new Set(matches.map(([match]) => match.toLowerCase()))];
}

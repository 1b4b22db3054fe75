const MONTH = 'january|february|march|april|may|june|july|august|september|october|november|december';
/** A capitalised word that does not start the text. */
const NAME = /(?<=[\p{L}\p{N},;:)'"] ['"(]?)\p{Lu}[\p{L}'.-]*/gu;

/** Kinds of answers: what a question asks for it matches `question`; what a document answers with matches `answer`. */
const TYPES: readonly { question: RegExp; answer: RegExp }[] = [
  {
    question:
      /\bwhen\b|\b(?:what|which|in what|in which)\s+(?:\w+\s+)?(?:year|date|day|month|century|decade|time|period|era)s?\b/i,
    answer: new RegExp(
      `\\b(?:1[0-9]{3}|20[0-9]{2})s?\\b|\\b\\d{1,2}(?:st|nd|rd|th)? (?:${MONTH})\\b|\\b(?:${MONTH}|spring|summer|autumn|` +
        'winter|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\\b|\\bcentur(?:y|ies)\\b|\\b(?:bc|ad|bce)\\b|\\bdecade|' +
        '\\b\\d{1,2}(?::\\d\\d)? ?[ap]\\.?m\\b|\\byears? (?:ago|later)\\b',
      'gi',
    ),
  },
  {
    question:
      /\bhow\s+(?:many|much|long|old|far|tall|high|large|big|often|fast|deep|wide|heavy|few)\b|\bwhat\s+(?:is\s+the\s+)?(?:\w+\s+)?(?:number|percentage|percent|amount|population|size|age|cost|price|rate|average|total)\b/i,
    answer:
      /\b\d[\d.,]*\b|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|sixty|hundred|thousand|million|billion|half|third|quarter|dozen|percent|once|twice)s?\b/gi,
  },
  { question: /\bwho(?:m|se)?\b/i, answer: NAME },
  {
    question:
      /\bwhere\b|\b(?:what|which)\s+(?:\w+\s+)?(?:city|country|state|place|town|location|region|area|continent|county|island|river|village|province)\b/i,
    answer: NAME,
  },
  {
    question: /\bwhy\b|\bwhat\s+(?:\w+\s+)?(?:reason|cause)s?\b/i,
    answer:
      /\bbecause\b|\bdue to\b|\bsince\b|\bin order to\b|\bso that\b|\bas a result\b|\bcaus(?:e|ed|es|ing)\b|\breasons?\b|\btherefore\b|\bthus\b|\bowing to\b|\bled to\b/gi,
  },
];

/** Characters of a document that are searched for an answer. */
const MAX_SEARCHED_CHARACTERS = 2_000;

/**
 * Returns a test of documents for a question of time, number, person, place or reason: 1 when the document contains
 * an expression of that type that the question does not contain, else -1. Other questions give 0.
 */
export function answerTypeTest(question: string): (document: string) => number {
  const type = TYPES.find((candidate) => candidate.question.test(question));
  if (type === undefined) return () => 0;
  const known = question.toLowerCase();
  return (document) => {
    for (const [match] of document.slice(0, MAX_SEARCHED_CHARACTERS).matchAll(type.answer)) {
      if (!known.includes(match.toLowerCase())) return 1;
    }
    return -1;
  };
}

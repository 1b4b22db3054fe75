import type { Message, Tool } from './conversation.ts';
import { splitIdentifier } from './select-tool.ts';
import { extractTerms } from './terms.ts';

/** Messages that are read, from the end, and characters of each and of the user's together, from the end. */
const MAX_READ_MESSAGES = 24;
const MAX_READ_CHARACTERS = 4_000;
const MAX_PARAMETERS = 32;
/** Letters of a parameter's name that are compared with words. */
const MAX_STEM_LETTERS = 4;

const DATE =
  /\b(?:today|tonight|tomorrow|now|morning|noon|afternoon|evening|night|weekend|next week|mon(?:day)?|tues?(?:day)?|wed(?:nesday)?|thurs?(?:day)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?|january|february|march|april|may|june|july|august|september|october|november|december|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|\d{1,2}(?:st|nd|rd|th)|\d{1,2}(?::\d\d)? ?(?:[ap]\.?m\b|o'clock)|\d{1,2}:\d\d|\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?|in \d+ \w+)\b/gi;
const NUMBER =
  /\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|dozen|couple|hundred|thousand|single|both)\b/gi;
const EMAIL = /\S@\S/g;
/** Quoted texts, capitalized words inside a sentence, abbreviations, and words with digits. */
const TEXT =
  /["“][^"”]+["”]|(?<!\p{L})'[^']+'(?!\p{L})|(?:(?<=[\p{Ll}\p{N},:;'’")] ["“'(]?)(?!I\b)\p{Lu}\p{L}+|\p{Lu}{2,}|\p{L}+\d|\d+\p{L})(?:[ -]\p{Lu}[\p{L}\d]*)*/gu;
/** A reply that gives no value. */
const GIVES_NO_VALUE =
  /^\W*(?:no|nope|not|i (?:don['’]?t|do not|can['’]?t|am not|forgot)|what|which|who|how|can|could|why)\b|\?\s*$/i;
/** What is between the name of a parameter and its value: "my password is", "email:". */
const NAMES_VALUE = String.raw`\w*(?:\s*[:=]|\s+(?:is|are|will be|to|of|named|called|as|and \w+ (?:is|are))\b)\s*\S`;

type Kind = 'date' | 'number' | 'email' | 'text' | 'named';
const VALUES: Readonly<Record<Exclude<Kind, 'named'>, RegExp>> = {
  date: DATE,
  number: NUMBER,
  email: EMAIL,
  text: TEXT,
};
const EMAIL_PARAMETER = /e.?mail/i;
/** Parameters whose values look like any word, so that only their names tell that a value is stated. */
const NAMED_PARAMETER = /token|password|secret|\bid\b|identifier|\bkey\b|account|user ?name|url|link/i;
const DATE_PARAMETER = /date|time|\bday\b|year|month|when|check.?(?:in|out)/i;
const DATE_DESCRIPTION = /\bdate\b|%Y|\bHH\b/;
const NUMBER_PARAMETER = /number|count|amount|size|how many|quantity|price|age\b|code|zip/i;

/** The required arguments of a tool. */
export interface StatedArguments {
  required: number;
  /** Those that the conversation states since the last tool result, or that a tool result contains. */
  stated: number;
}

/**
 * Counts the required arguments of a tool that a conversation states: asked for and answered, named with a value,
 * listed as an enumerated value, a member of a tool result, or one of the dates, numbers and names that the user
 * mentions. An estimate.
 */
export function countStatedArguments(tool: Tool, messages: readonly Message[]): StatedArguments {
  const { properties, required } = Object(tool.function.parameters) as { properties?: object; required?: unknown };
  const names = Array.isArray(required)
    ? required.filter((name) => typeof name === 'string').slice(0, MAX_PARAMETERS)
    : [];
  const schemas = Object(properties) as Record<string, unknown>;
  const turns = messages
    .slice(-MAX_READ_MESSAGES)
    .map(({ role, content }): Turn => ({ role, content: (content ?? '').slice(-MAX_READ_CHARACTERS) }));
  const results = turns.filter(({ role }) => role === 'tool').map(({ content }) => content);
  const parameters = names.map((name) => describeParameter(name, schemas[name]));
  const stated = findStated(parameters, turns.slice(turns.findLastIndex(({ role }) => role === 'tool') + 1));
  const isReturned = (name: string): boolean => results.some((result) => result.includes(`"${name}"`));
  const statedParameters = parameters.filter((parameter, i) => stated.has(parameter) || isReturned(names[i] ?? ''));
  return { required: names.length, stated: statedParameters.length };
}

type Turn = Pick<Message, 'role'> & { content: string };

interface Parameter {
  /** Terms of its name. */
  terms: readonly string[];
  kind: Kind;
  /** Enumerated texts, in lower case. */
  values: readonly string[];
}

function describeParameter(name: string, schema: unknown): Parameter {
  const { type, description, enum: values = [] } = Object(schema) as Record<string, unknown>;
  const words = splitIdentifier(name);
  const isDate = DATE_PARAMETER.test(words) || DATE_DESCRIPTION.test(String(description ?? ''));
  const isNumber = type === 'number' || type === 'integer' || NUMBER_PARAMETER.test(words);
  const valueKind = isDate ? 'date' : isNumber ? 'number' : 'text';
  const kind = EMAIL_PARAMETER.test(words) ? 'email' : NAMED_PARAMETER.test(words) ? 'named' : valueKind;
  const texts = Array.isArray(values) ? values.filter((value) => typeof value === 'string') : [];
  return { terms: extractTerms(words), kind, values: texts.map((value) => value.toLowerCase()) };
}

function findStated(parameters: readonly Parameter[], turns: readonly Turn[]): ReadonlySet<Parameter> {
  const texts = turns.flatMap(({ role, content }) => (role === 'user' ? [content] : []));
  const text = texts.join('\n').slice(-MAX_READ_CHARACTERS);
  const lowerText = text.toLowerCase();
  const isNamed = ({ terms }: Parameter): boolean => {
    const term = terms.at(-1)?.slice(0, MAX_STEM_LETTERS);
    return term !== undefined && new RegExp(RegExp.escape(term) + NAMES_VALUE).test(lowerText);
  };
  const questions = turns.flatMap(({ role, content }, i) => {
    const reply = turns[i + 1];
    const isAnswered = role === 'assistant' && reply?.role === 'user' && !GIVES_NO_VALUE.test(reply.content);
    return isAnswered ? extractTerms(content) : [];
  });
  const questionSet = new Set(questions);
  const stated = new Set(
    parameters.filter(
      (parameter) =>
        parameter.terms.some((term) => questionSet.has(term)) ||
        parameter.values.some((value) => lowerText.includes(value)) ||
        isNamed(parameter),
    ),
  );
  for (const [kind, pattern] of Object.entries(VALUES)) {
    const mentioned = new Set(Array.from(text.matchAll(pattern), ([value]) => value.toLowerCase())).size;
    const ofKind = parameters.filter((parameter) => parameter.kind === kind);
    const taken = ofKind.filter((parameter) => stated.has(parameter)).length;
    const open = ofKind.filter((parameter) => !stated.has(parameter) && parameter.values.length === 0);
    for (const parameter of open.slice(0, Math.max(0, mentioned - taken))) stated.add(parameter);
  }
  return stated;
}

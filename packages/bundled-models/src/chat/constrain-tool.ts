import { callBias } from './call-decision.ts';
import type { Conversation, Message, Tool } from './conversation.ts';
import { readListedNames } from './listed-names.ts';
import { selectTool } from './select-tool.ts';

type Schema = Record<string, unknown>;

/** Words of a conversation that values are copied from, from its end, and words of one value: bounds the grammar. */
const MAX_WORDS = 120;
const MAX_VALUE_WORDS = 6;
const MAX_NUMBERS = 32;
/** Characters of a conversation that are read. */
const MAX_READ_CHARACTERS = MAX_WORDS * 12;
/** Default limits for schemas without limits, because a small model may generate without end. */
const MAX_TEXT_CHARACTERS = 40;
const MAX_LONG_TEXT_CHARACTERS = 160;
const MAX_ITEMS = 8;
/** Copied items repeat each other. */
const MAX_COPIED_ITEMS = 2;
const MAX_PROPERTIES = 4;
const SCALAR = {
  anyOf: [{ type: 'string', maxLength: MAX_TEXT_CHARACTERS }, { type: 'number' }, { type: 'boolean' }],
};
/** Depth to which nested schemas are narrowed. */
const MAX_DEPTH = 4;

/** Keywords that already limit a value. */
const LIMITING = 'enum const format pattern minLength maxLength anyOf oneOf allOf $ref not'.split(' ');
const LIMITING_OBJECTS = ['properties', 'minProperties', 'maxProperties', 'additionalProperties'];
/** Parameters whose values are converted rather than copied from the conversation, by name and description. */
const CONVERTED =
  /date|\bday\b|time|hour|year|month|duration|unit|format|code|currency|language|type|mode|\bid\b|identifier|url|email|phone|expression|equation|function|formula/i;
const CONVERTED_DESCRIPTION = /\bformat|\bdate\b|\btime\b|one of|such as|either\b/i;
/** Parameters with long texts. */
const LONG =
  /query|message|content|text|body|description|comment|note|reason|summary|prompt|code|url|address|expression|equation|function|formula/i;

const NUMBER_WORDS: ReadonlyMap<string, number> = new Map([
  ...'zero one two three four five six seven eight nine ten eleven twelve'
    .split(' ')
    .map((word, value) => [word, value] as const),
  ...([
    ['dozen', 12],
    ['fifteen', 15],
    ['twenty', 20],
    ['thirty', 30],
    ['forty', 40],
    ['fifty', 50],
    ['hundred', 100],
  ] as const),
]);

/** Parameters whose values are names of persons, places and the like, and such names. */
const NAMED = /name|person|customer|author|owner|city|country|place|town|company|street/i;
const PROPER_NAME = /^\p{Lu}[\p{L}.'’-]*(?: \p{Lu}[\p{L}.'’-]*)*$/u;

/** Values of numbers where the conversation contains none. */
const SMALL_NUMBERS = [0, 1];

/** Values of a conversation that arguments can be copied from. */
interface SpokenValues {
  phrases: readonly string[];
  numbers: readonly number[];
  /** Whether optional, nested and long values are copied too, and not only required ones. */
  isEverywhere: boolean;
}
/** The tools that the model may call, with schemas that narrow their arguments. */
export interface CallConstraint {
  /** Indices of the tools. */
  tools: readonly number[];
  /** Narrower schemas of arguments, by index of a tool. */
  parameters?: Readonly<Record<number, Schema>>;
  /** Added to the logit of the token that starts a call. */
  callBias: number;
  /** Schemas of the arguments of several calls of the first of `tools`: these calls in this order, or none. */
  sequence?: readonly Schema[];
}

const isObject = (value: unknown): value is Schema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const NO_VALUES: SpokenValues = { phrases: [], numbers: [], isEverywhere: false };

/**
 * Constrains calls to the tool that fits the conversation, and its arguments to a narrower schema that a small model
 * fills in reliably. The model decides whether it calls, with a logit bias from the conversation. The model was trained
 * on single calls, so several are made only where the question lists names and the tool takes one: one call for each.
 */
export function constrainToTool({ tools, toolChoice, messages, parallelToolCalls }: Conversation): CallConstraint {
  const named = typeof toolChoice === 'object' ? tools.findIndex((tool) => tool.function.name === toolChoice.name) : -1;
  const index = named >= 0 ? named : selectTool(tools, messages);
  const tool = tools[index] as Tool;
  const { parameters } = tool.function;
  const constraint = { tools: [index], callBias: callBias(tool, messages) };
  if (parameters === undefined) return constraint;
  const narrowed = narrowObject(parameters, readSpokenValues(messages), 0);
  const sequence = parallelToolCalls ? listCalls(narrowed, messages.at(-1)) : [];
  return { ...constraint, parameters: { [index]: narrowed }, ...(sequence.length > 0 && { sequence }) };
}

/** Schemas of one call for each name that a question lists; empty unless the tool takes exactly one name. */
function listCalls(schema: Schema, message: Message | undefined): Schema[] {
  if (message?.role !== 'user') return [];
  const names = readListedNames(message.content ?? '');
  const { properties, required } = schema as { properties?: Record<string, Schema>; required?: unknown };
  const entries = Object.entries(properties ?? {});
  const takesList = entries.some(([, value]) => value['type'] === 'array');
  const accepting = entries.filter(([, { enum: values }]) =>
    names.every((name) => Array.isArray(values) && values.includes(name)),
  );
  const [[property, accepted] = []] = accepting;
  const isRequired = Array.isArray(required) && required.includes(property);
  if (names.length === 0 || takesList || accepting.length !== 1 || !isRequired || property === undefined) return [];
  return names.map((name) => ({ ...schema, properties: { ...properties, [property]: { ...accepted, enum: [name] } } }));
}

/** Narrows the schema of an answer to values of the conversation, at every depth. */
export function narrowToSpokenValues(schema: Schema, messages: readonly Message[]): Schema {
  const values = { ...readSpokenValues(messages), isEverywhere: true };
  const narrowed = schema['type'] === undefined ? narrowObject(schema, values, 0) : narrowValue('', schema, values, 0);
  const definitions = ['$defs', 'definitions'].flatMap((keyword) => {
    const entries = Object.entries(isObject(schema[keyword]) ? schema[keyword] : {});
    if (entries.length === 0) return [];
    return [[keyword, Object.fromEntries(entries.map(([key, each]) => [key, narrowAny(key, each, values, 1)]))]];
  });
  return { ...narrowed, ...Object.fromEntries(definitions) };
}

/**
 * Narrows the required properties to values of the conversation (texts to phrases, numbers to numbers) and gives texts
 * and lists a maximum length. Whatever the result accepts, the original schema accepts.
 */
function narrowObject(schema: Schema, values: SpokenValues, depth: number): Schema {
  const { properties, required } = schema;
  if (!isObject(properties) || depth >= MAX_DEPTH) return schema;
  const isRequired = (name: string): boolean => Array.isArray(required) && required.includes(name);
  const isCopied = (name: string): boolean => values.isEverywhere || (depth === 0 && isRequired(name));
  const narrowed = Object.entries(properties).map(([name, value]) => [
    name,
    narrowAny(name, value, isCopied(name) ? values : NO_VALUES, depth),
  ]);
  return { ...schema, properties: Object.fromEntries(narrowed) };
}

/** Narrows a schema; `true` and `false` stay as they are. */
function narrowAny(name: string, schema: unknown, values: SpokenValues, depth: number): unknown {
  return isObject(schema) ? narrowValue(name, schema, values, depth) : schema;
}

function narrowValue(name: string, schema: Schema, values: SpokenValues, depth: number): Schema {
  if (values.isEverywhere && Array.isArray(schema['anyOf']))
    return { ...schema, anyOf: schema['anyOf'].map((each) => narrowAny(name, each, values, depth + 1)) };
  if (LIMITING.some((keyword) => keyword in schema)) return schema;
  if (values.isEverywhere && Array.isArray(schema['type']))
    return { anyOf: schema['type'].map((type) => narrowValue(name, { ...schema, type }, values, depth)) };
  switch (schema['type']) {
    case 'string':
      return narrowText(name, schema, values);
    case 'integer':
    case 'number': {
      const candidates = values.isEverywhere && values.numbers.length === 0 ? SMALL_NUMBERS : values.numbers;
      const accepted = candidates.filter((value) => acceptsNumber(schema, value));
      return accepted.length > 0 ? { ...schema, enum: accepted } : schema;
    }
    case 'array':
      return narrowList(name, schema, values.isEverywhere ? values : NO_VALUES, depth);
    case 'object':
      if (LIMITING_OBJECTS.some((keyword) => keyword in schema))
        return narrowObject(schema, values.isEverywhere ? values : NO_VALUES, depth + 1);
      return { ...schema, maxProperties: MAX_PROPERTIES, additionalProperties: SCALAR };
    default:
      return schema;
  }
}

function narrowText(name: string, schema: Schema, { phrases, isEverywhere }: SpokenValues): Schema {
  const description = String(schema['description'] ?? '');
  const isConverted = CONVERTED.test(name) || LONG.test(name) || CONVERTED_DESCRIPTION.test(description);
  if (phrases.length > 0 && (!isConverted || isEverywhere)) {
    // Descriptions give examples in quotation marks.
    const examples = Array.from(description.matchAll(/['"“‘`]([^'"”’`]{1,40})['"”’`]/g), ([, value = '']) => value);
    const names = isEverywhere && NAMED.test(name) ? phrases.filter((phrase) => PROPER_NAME.test(phrase)) : [];
    return { ...schema, enum: names.length > 0 ? names : [...new Set([...phrases, ...examples])] };
  }
  return { ...schema, maxLength: LONG.test(name) ? MAX_LONG_TEXT_CHARACTERS : MAX_TEXT_CHARACTERS };
}

function narrowList(name: string, schema: Schema, values: SpokenValues, depth: number): Schema {
  const { items, minItems } = schema;
  const most = values.isEverywhere ? MAX_COPIED_ITEMS : MAX_ITEMS;
  const limit = 'maxItems' in schema ? {} : { maxItems: Math.max(most, Number(minItems ?? 0)) };
  if (!isObject(items) || depth >= MAX_DEPTH) return { ...schema, ...limit };
  return { ...schema, ...limit, items: narrowValue(name, items, values, depth + 1) };
}

function acceptsNumber(schema: Schema, value: number): boolean {
  const bound = (keyword: string, otherwise: number): number =>
    typeof schema[keyword] === 'number' ? schema[keyword] : otherwise;
  return (
    (schema['type'] !== 'integer' || Number.isInteger(value)) &&
    value >= bound('minimum', -Infinity) &&
    value <= bound('maximum', Infinity) &&
    value > bound('exclusiveMinimum', -Infinity) &&
    value < bound('exclusiveMaximum', Infinity) &&
    !('multipleOf' in schema)
  );
}

function readSpokenValues(messages: readonly Message[]): SpokenValues {
  const contents = messages.filter(({ role }) => role !== 'system').map(({ content }) => content ?? '');
  const text = contents.join('\n').slice(-MAX_READ_CHARACTERS);
  return { phrases: readPhrases(text), numbers: readNumbers(text), isEverywhere: false };
}

/** Word n-grams within sentences, the latest sentences first, without punctuation at their ends. */
function readPhrases(text: string): string[] {
  const phrases = new Set<string>();
  let remainingWords = MAX_WORDS;
  for (const sentence of text.split(/[.!?;:]+(?:\s|$)|["“”{}[\]()\n]/).reverse()) {
    if (remainingWords <= 0) break;
    const words = sentence.match(/\S+/g)?.slice(-remainingWords) ?? [];
    remainingWords -= words.length;
    for (let from = 0; from < words.length; from++) {
      for (let to = from + 1; to <= Math.min(words.length, from + MAX_VALUE_WORDS); to++) {
        const ngram = words.slice(from, to).join(' ');
        const phrase = ngram.replace(/^[^\p{L}\p{N}#$€£+-]+|[^\p{L}\p{N}%+]+$/gu, '');
        for (const value of [phrase, phrase.replace(/['’]s$/, '')]) if (value !== '') phrases.add(value);
      }
    }
  }
  return [...phrases];
}

/** Numbers in digits or words, the latest first; percentages also as fractions. */
function readNumbers(text: string): number[] {
  const numbers: number[] = [];
  for (const [, digits, percent, word = ''] of text.matchAll(
    /(-?\d[\d,]*(?:\.\d+)?)(\s*(?:%|percent))?|\b([a-z]{3,8})\b/gi,
  )) {
    const value = digits === undefined ? NUMBER_WORDS.get(word.toLowerCase()) : Number(digits.replaceAll(',', ''));
    if (value === undefined || !Number.isFinite(value)) continue;
    numbers.push(value);
    if (percent !== undefined) numbers.push(Number((value / 100).toPrecision(12)));
  }
  return [...new Set(numbers.slice(-MAX_NUMBERS).reverse())];
}

import type { ChatMessage, FunctionTool } from '../../engine.ts';
import { requiredOf } from './tool-match.ts';

type Schema = Record<string, unknown>;

/** Words of a conversation that values are taken from, from its end, and words of one value at most: bounds the grammar. */
const MAX_WORDS = 120;
const MAX_VALUE_WORDS = 6;
/** Numbers of a conversation that values are taken from. */
const MAX_NUMBERS = 32;
/** Characters of a text that the schema does not limit, and items of a list: a weak model may not find an end. */
const MAX_TEXT = 40;
const MAX_LONG_TEXT = 160;
const MAX_ITEMS = 8;
/** Members of an object of which the schema says nothing. */
const MAX_MEMBERS = 4;
/** And their values. */
const SCALAR = { anyOf: [{ type: 'string', maxLength: MAX_TEXT }, { type: 'number' }, { type: 'boolean' }] };
/** Schemas within schemas that are narrowed; deeper ones are left as they are. */
const MAX_DEPTH = 4;

/** Keywords that say enough of a value already. */
const LIMITING = [
  'enum',
  'const',
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'anyOf',
  'oneOf',
  'allOf',
  '$ref',
  'not',
];
/** What is said in other words than it is written in a call, by its name or its description. */
const CONVERTED =
  /date|\bday\b|time|hour|year|month|duration|unit|format|code|currency|language|type|mode|\bid\b|identifier|url|email|phone|expression|equation|function|formula/i;
const LONG =
  /query|message|content|text|body|description|comment|note|reason|summary|prompt|code|url|address|expression|equation|function|formula/i;
const CONVERTED_DESCRIPTION = /\bformat|\bdate\b|\btime\b|one of|such as|either\b/i;

const NUMBER_WORDS = [
  'zero',
  'one',
  'two',
  'three',
  'four',
  'five',
  'six',
  'seven',
  'eight',
  'nine',
  'ten',
  'eleven',
  'twelve',
];
const TENS: Readonly<Record<string, number>> = {
  fifteen: 15,
  twenty: 20,
  thirty: 30,
  forty: 40,
  fifty: 50,
  hundred: 100,
  dozen: 12,
};

/** What was said, from which values are taken; each list is made when it is first asked for. */
interface Said {
  spans(): string[];
  numbers(): number[];
}

/**
 * The schema of a tool's arguments, narrowed to what a small model gets right: texts that are mostly said word for word
 * (names, places) are held to words of the conversation, numbers to those that were said, and texts and lists have an end.
 * Whatever it accepts the tool's own schema accepts.
 */
export function narrowed(tool: FunctionTool, messages: readonly ChatMessage[]): Schema | null {
  const schema = tool.function.parameters;
  if (schema === undefined) return null;
  const said = { spans: lazily(() => spansOf(messages)), numbers: lazily(() => numbersOf(messages)) };
  return narrowedObject(schema, requiredOf(tool), said, 0);
}

function narrowedObject(schema: Schema, required: ReadonlySet<unknown>, said: Said, depth: number): Schema {
  const properties = schema['properties'];
  if (typeof properties !== 'object' || properties === null || depth >= MAX_DEPTH) return schema;
  const narrower = Object.entries(properties).map(([name, own]) => {
    if (typeof own !== 'object' || own === null) return [name, own];
    return [name, narrowedValue(name, own as Schema, required.has(name) ? said : null, depth)];
  });
  return { ...schema, properties: Object.fromEntries(narrower) };
}

/** `said`: null where the value need not have been said. */
function narrowedValue(name: string, schema: Schema, said: Said | null, depth: number): Schema {
  if (LIMITING.some((keyword) => keyword in schema)) return schema;
  const description = String(schema['description'] ?? '');
  if (schema['type'] === 'string') {
    const isCopied = !CONVERTED.test(name) && !LONG.test(name) && !CONVERTED_DESCRIPTION.test(description);
    const values = said !== null && isCopied ? [...new Set([...said.spans(), ...examplesIn(description)])] : [];
    return values.length > 0
      ? { ...schema, enum: values }
      : { ...schema, maxLength: LONG.test(name) ? MAX_LONG_TEXT : MAX_TEXT };
  }
  if (schema['type'] === 'integer' || schema['type'] === 'number') {
    const values = (said?.numbers() ?? []).filter((value) => isAccepted(value, schema));
    return values.length > 0 ? { ...schema, enum: values } : schema;
  }
  if (schema['type'] === 'array') return narrowedList(name, schema, depth);
  if (schema['type'] === 'object' && !('properties' in schema)) {
    return 'maxProperties' in schema || 'additionalProperties' in schema || 'minProperties' in schema
      ? schema
      : { ...schema, maxProperties: MAX_MEMBERS, additionalProperties: SCALAR };
  }
  if (schema['type'] === 'object') return narrowedObject(schema, new Set(), said ?? NOTHING_SAID, depth + 1);
  return schema;
}

const NOTHING_SAID: Said = { spans: () => [], numbers: () => [] };

function narrowedList(name: string, schema: Schema, depth: number): Schema {
  const { items } = schema;
  const least = typeof schema['minItems'] === 'number' ? schema['minItems'] : 0;
  const most = 'maxItems' in schema ? {} : { maxItems: Math.max(MAX_ITEMS, least) };
  if (typeof items !== 'object' || items === null || Array.isArray(items) || depth >= MAX_DEPTH)
    return { ...schema, ...most };
  return { ...schema, ...most, items: narrowedValue(name, items as Schema, null, depth + 1) };
}

function isAccepted(value: number, schema: Schema): boolean {
  const bound = (keyword: string, otherwise: number): number =>
    typeof schema[keyword] === 'number' ? schema[keyword] : otherwise;
  if (schema['type'] === 'integer' && !Number.isInteger(value)) return false;
  if (value < bound('minimum', -Infinity) || value > bound('maximum', Infinity)) return false;
  return (
    value > bound('exclusiveMinimum', -Infinity) &&
    value < bound('exclusiveMaximum', Infinity) &&
    !('multipleOf' in schema)
  );
}

/** Runs of words as they stand in the conversation, without the signs at their ends. */
function spansOf(messages: readonly ChatMessage[]): string[] {
  const sentences = said(messages).split(/[.!?;:]+(?:\s|$)|["“”{}[\]()\n]/);
  const spans = new Set<string>();
  let left = MAX_WORDS;
  for (const sentence of sentences.reverse()) {
    const words = sentence
      .split(/\s+/)
      .filter((word) => word !== '')
      .slice(-left);
    left -= words.length;
    for (let from = 0; from < words.length; from++) {
      for (let to = from + 1; to <= Math.min(words.length, from + MAX_VALUE_WORDS); to++) {
        const span = words
          .slice(from, to)
          .join(' ')
          .replace(/^[^\p{L}\p{N}#$€£+-]+|[^\p{L}\p{N}%+]+$/gu, '');
        const owner = span.replace(/['’]s$/, '');
        for (const value of [span, owner]) if (value !== '') spans.add(value);
      }
    }
    if (left <= 0) break;
  }
  return [...spans];
}

/** The numbers that were said in digits or in words, the latest first; of a percentage the share, too. */
function numbersOf(messages: readonly ChatMessage[]): number[] {
  const found: number[] = [];
  for (const [, digits, percent, word] of said(messages).matchAll(
    /(-?\d[\d,]*(?:\.\d+)?)(\s*(?:%|percent))?|\b([a-z]{3,8})\b/gi,
  )) {
    const value = digits === undefined ? numberNamed(word ?? '') : Number(digits.replaceAll(',', ''));
    if (value === null || !Number.isFinite(value)) continue;
    found.push(value);
    if (percent !== undefined) found.push(Number((value / 100).toPrecision(12)));
  }
  return [...new Set(found.slice(-MAX_NUMBERS).reverse())];
}

function numberNamed(word: string): number | null {
  const lower = word.toLowerCase();
  const small = NUMBER_WORDS.indexOf(lower);
  return small >= 0 ? small : (TENS[lower] ?? null);
}

const said = (messages: readonly ChatMessage[]): string =>
  messages
    .filter(({ role }) => role !== 'system')
    .map(({ content }) => content ?? '')
    .join('\n')
    .slice(-MAX_WORDS * 12);

/** Values that a description gives in quotation marks. */
function examplesIn(description: string): string[] {
  return Array.from(description.matchAll(/['"“‘`]([^'"”’`]{1,40})['"”’`]/g), ([, value = '']) => value);
}

function lazily<T>(make: () => T): () => T {
  let made: { value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

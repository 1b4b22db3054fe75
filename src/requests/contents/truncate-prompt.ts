import { isRecord } from '../../lib/json.ts';
import { MAX_RECORDED_CHARACTERS, REDACTION_MARGIN } from '../../lib/recorded-answer.ts';

/** Decreasing limits of array items for bodies with too many values. The last items, which are the newest, are kept. */
const ARRAY_ITEMS = [Number.POSITIVE_INFINITY, 1_024, 64, 8];
/** Minimum length from which a text without spaces counts as a file, such as an image in base64. */
const MIN_FILE_CHARACTERS = 1_024;
const FILE = /^[\w+/=:;,.-]+$/;
/** Fields of an MCP server that contain credentials. */
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'authorization_token', 'headers']);

/** A request body of bounded size. */
export interface TruncatedPrompt {
  json: string;
  /** Maximum characters of a text. Longer texts keep `REDACTION_MARGIN` more characters until they are redacted. */
  maxText: number;
  isTruncated: boolean;
}

/** Converts every string, key and number of a JSON value. A number becomes a string if the conversion changes it. */
export function mapTexts(value: unknown, convert: (text: string) => string): unknown {
  if (typeof value === 'string') return convert(value);
  if (typeof value === 'number') return convert(String(value)) === String(value) ? value : convert(String(value));
  if (Array.isArray(value)) return value.map((item) => mapTexts(item, convert));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [convert(key), mapTexts(item, convert)]));
}

/**
 * Limits a body to `MAX_RECORDED_CHARACTERS`: truncates the longest texts and replaces files by their size. If the body
 * has too many values, keeps only the last items of each array.
 */
export function truncatePrompt(body: unknown): TruncatedPrompt {
  for (const items of ARRAY_ITEMS) {
    const pruned = prune(body, items);
    const size = measure(pruned, { structure: 0, lengths: [] });
    if (size.structure > MAX_RECORDED_CHARACTERS) continue;
    const maxText = maxTextLength(size.lengths);
    const cut = (text: string) => (exceedsMaxText(text, maxText) ? text.slice(0, maxText + REDACTION_MARGIN) : text);
    const isTruncated = items !== ARRAY_ITEMS[0] || size.lengths.some((length) => length >= maxText + REDACTION_MARGIN);
    return { json: JSON.stringify(mapTexts(pruned, cut)), maxText, isTruncated };
  }
  return { json: 'null', maxText: 0, isTruncated: true };
}

/** Whether a text of a `TruncatedPrompt` is truncated or has to be. */
export const exceedsMaxText = (text: string, maxText: number): boolean => text.length >= maxText + REDACTION_MARGIN;

function prune(value: unknown, items: number): unknown {
  if (typeof value === 'string') return describeFile(value);
  if (Array.isArray(value)) return value.slice(-items).map((item) => prune(item, items));
  if (!isRecord(value)) return value;
  const isServer = value['type'] === 'mcp' || 'authorization_token' in value;
  const fields = Object.entries(value).filter(([key]) => !isServer || !CREDENTIALS.has(key));
  return Object.fromEntries(fields.map(([key, item]) => [key, prune(item, items)]));
}

function describeFile(text: string): string {
  if (text.length < MIN_FILE_CHARACTERS || !FILE.test(text.slice(0, MIN_FILE_CHARACTERS))) return text;
  return `[file of ${text.length} characters]`;
}

interface Size {
  /** Approximate characters of the JSON without its texts. */
  structure: number;
  lengths: number[];
}

function measure(value: unknown, size: Size): Size {
  size.structure += 4;
  if (typeof value === 'string') size.lengths.push(value.length);
  else if (Array.isArray(value)) for (const item of value) measure(item, size);
  else if (isRecord(value))
    for (const [key, item] of Object.entries(value)) {
      size.structure += key.length;
      measure(item, size);
    }
  return size;
}

/** Returns the maximum length of a text at which all texts together fit into `MAX_RECORDED_CHARACTERS`. */
function maxTextLength(lengths: readonly number[]): number {
  let left = MAX_RECORDED_CHARACTERS;
  for (const [index, length] of lengths.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(left / (lengths.length - index));
    if (length > share) return share;
    left -= length;
  }
  return MAX_RECORDED_CHARACTERS;
}

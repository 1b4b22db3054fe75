import { narrowToSpokenValues } from './constrain-tool.ts';
import type { Conversation, JsonFormat, Message } from './conversation.ts';
import { LIMITATION_TEXT } from './plain-replies.ts';

/** A JSON format, or the only texts to choose from. */
type NarrowedFormat = JsonFormat | { type: 'choice'; choices: readonly string[] };

/** Requests for named values: `Extract the name and the city:`, `JSON with the keys name, city`. */
const KEY_REQUESTS = [
  /\b(?:keys?|fields?|properties)\b:?\s+([^.:\n]{2,120})/i,
  /\bjson(?: object)?(?: with| containing|:)\s+([^.:\n]{2,120})/i,
  /\b(?:extract|return|find|get)\s+([^.:\n]{2,120}?)(?=\s+(?:as|in|from|of)\b|[.:\n]|$)/i,
];
const KEY = /^[\p{L}\d_-]+(?: [\p{L}\d_-]+){0,2}$/u;
const MAX_KEYS = 8;
/** Minimum words of a text to take values from. */
const MIN_SOURCE_WORDS = 3;

/**
 * Narrows a JSON format to values that the conversation contains, and gives texts and lists a maximum length: the model
 * copies reliably and cannot invent. An object without a schema gets the keys that the last message names, or one
 * sentence about the limits of the model as `error`. Whatever the result accepts, the original format accepts.
 */
export function constrainJson({ messages }: Conversation, format: JsonFormat, maxTokens: number): NarrowedFormat {
  if (format.type === 'json_schema') return { ...format, schema: narrowToSpokenValues(format.schema, messages) };
  const request = readKeyRequest(messages);
  if (request === null) return { type: 'choice', choices: [errorObject(maxTokens)] };
  const value = { type: /\d/.test(request.source) ? ['string', 'number'] : 'string' };
  const schema = {
    type: 'object',
    properties: Object.fromEntries(request.keys.map((key) => [key, value])),
    required: request.keys,
    additionalProperties: false,
  };
  const source: Message[] = [{ role: 'user', content: request.source }];
  return { type: 'json_schema', name: 'object', strict: true, schema: narrowToSpokenValues(schema, source) };
}

/** An object that says that the model cannot do this, within the token limit. A token has at least one character. */
function errorObject(maxTokens: number): string {
  const objects = [LIMITATION_TEXT, 'That is more than this model can do.'].map((error) => JSON.stringify({ error }));
  return objects.find(({ length }) => length <= maxTokens) ?? '{}';
}

/** The keys that a conversation requests, and the text to take their values from; null for none. */
function readKeyRequest(messages: readonly Message[]): { keys: string[]; source: string } | null {
  const last = messages.at(-1)?.content ?? '';
  const system = messages.findLast(({ role }) => role === 'system')?.content ?? '';
  for (const instructions of [last, system]) {
    for (const pattern of KEY_REQUESTS) {
      const match = pattern.exec(instructions);
      const keys = match === null ? null : parseKeys(match[1] ?? '');
      if (match === null || keys === null) continue;
      const source = instructions === last ? removeSentence(last, match.index) : last;
      if (source.split(/\s+/).filter((word) => word !== '').length >= MIN_SOURCE_WORDS) return { keys, source };
    }
  }
  return null;
}

function parseKeys(list: string): string[] | null {
  const names = list.split(/\s*,\s*(?:and\s+)?|\s+and\s+/).map((name) =>
    name
      .replace(/^(?:the|a|an|his|her|their|its)\s+/i, '')
      .replace(/\s+as json$/i, '')
      .trim(),
  );
  const keys = [...new Set(names.map((name) => name.toLowerCase().replaceAll(' ', '_')))];
  return keys.length <= MAX_KEYS && names.every((name) => KEY.test(name)) ? keys : null;
}

/** A text without the sentence or clause at an offset. */
function removeSentence(text: string, at: number): string {
  const start = Math.max(text.lastIndexOf('. ', at) + 1, text.lastIndexOf('\n', at) + 1, 0);
  const length = text.slice(at).search(/[.:\n](?:\s|$)/);
  const end = length < 0 ? text.length : at + length + 1;
  return `${text.slice(0, start)} ${text.slice(end)}`.trim();
}

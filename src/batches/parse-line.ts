import { isUtf8 } from 'node:buffer';
import { ApiError } from '../errors.ts';
import { JsonLimits } from '../http/json-limits.ts';
import { isRecord } from '../lib/json.ts';
import type { LineBody } from './endpoints.ts';
import { type BatchEndpointPath, type BatchError, MAX_CUSTOM_ID_CHARACTERS, MAX_LINE_BYTES } from './schema.ts';
import type { FileLine } from './split-lines.ts';

/** A well-formed line. */
export interface ParsedLine {
  customId: string;
  body: LineBody;
}

/** A defect of a line, without its number. */
export class LineDefect extends Error {
  override readonly name = 'LineDefect';
  readonly code: BatchError['code'];
  readonly param: string | null;

  constructor(code: BatchError['code'], message: string, param: string | null = null) {
    super(message);
    this.code = code;
    this.param = param;
  }
}

/** Parses a line of a batch for an endpoint. Throws a `LineDefect`. The body is validated when the line runs. */
export function parseLine({ content }: Pick<FileLine, 'content'>, endpoint: BatchEndpointPath): ParsedLine {
  if (content === null) throw new LineDefect('line_too_large', `The line has more than ${MAX_LINE_BYTES} bytes.`);
  const line = parseObject(content);
  const customId = requireCustomId(line['custom_id']);
  const method = requireText(line, 'method');
  if (method !== 'POST') throw new LineDefect('invalid_method', "'method' must be POST.", 'method');
  const url = requireText(line, 'url');
  if (url !== endpoint) {
    throw new LineDefect('invalid_url', `'url' must be ${endpoint}, the endpoint of the batch.`, 'url');
  }
  const { body } = line;
  if (body === undefined || body === null) throw missing('body');
  if (!isRecord(body)) throw new LineDefect('invalid_json_line', "'body' must be a JSON object.", 'body');
  if (body['stream'] === true) {
    throw new LineDefect('streaming_unsupported', "'body.stream' must not be true in a batch.", 'body.stream');
  }
  return { customId, body };
}

function parseObject(content: Buffer): Record<string, unknown> {
  if (!isUtf8(content)) throw new LineDefect('invalid_json_line', 'The line is not valid UTF-8.');
  try {
    // Bounds what parsing allocates, as for request bodies.
    new JsonLimits().scan(content);
    const value: unknown = JSON.parse(content.toString('utf8'));
    if (isRecord(value)) return value;
  } catch (error) {
    if (error instanceof ApiError) throw new LineDefect('invalid_json_line', error.message);
  }
  throw new LineDefect('invalid_json_line', 'The line is not a JSON object.');
}

function requireCustomId(value: unknown): string {
  if (typeof value !== 'string' || value === '') throw missing('custom_id');
  if (value.length <= MAX_CUSTOM_ID_CHARACTERS && value.isWellFormed() && !value.includes('\0')) return value;
  const must = `must have at most ${MAX_CUSTOM_ID_CHARACTERS} characters, and no NUL or lone surrogate`;
  throw new LineDefect('invalid_json_line', `'custom_id' ${must}.`, 'custom_id');
}

function requireText(line: Record<string, unknown>, field: string): string {
  const value = line[field];
  if (typeof value !== 'string') throw missing(field);
  return value;
}

const missing = (field: string): LineDefect =>
  new LineDefect('missing_required_field', `'${field}' is required.`, field);

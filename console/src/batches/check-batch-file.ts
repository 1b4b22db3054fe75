import type { Schema } from '../api/types.ts';
import { BATCH_ENDPOINTS, BATCH_LIMITS } from '../api/values.ts';
import { parseJson } from '../ui/json.ts';

/** Bytes that are parsed without a pause: a few milliseconds. */
const SLICE_BYTES = 524_288;
/** The check stops at this many defects. */
const MAX_DEFECTS = 100;
/** Of English text. Other languages need more tokens. */
const CHARACTERS_PER_TOKEN = 4;

type BatchEndpoint = (typeof BATCH_ENDPOINTS)[number];
type ErrorCode = NonNullable<Schema<'Batch'>['errors']>['data'][number]['code'];

/** Why a line would be rejected: the codes of the API that a line alone can have. */
export type DefectCode = Exclude<ErrorCode, 'model_not_found' | 'empty_file'>;

/** A defect of one line of a batch file. */
export interface LineDefect {
  /** From 1. */
  line: number;
  code: DefectCode;
  /** The field to blame; null: the whole line. */
  param: string | null;
}

/** What a check has found so far. */
export interface BatchCheck {
  /** Lines with a request; blank lines do not count. */
  requests: number;
  defects: LineDefect[];
  /** The endpoint of the first valid line; null without one. */
  endpoint: BatchEndpoint | null;
  /** Requests by model. */
  models: Map<string, number>;
  /** Estimated from the length of the texts. */
  promptTokens: number;
  /** False when the check has stopped at the maximum number of defects. */
  isComplete: boolean;
}

interface CheckOptions {
  /** Receives the share of the file that is checked, from 0 to 1. */
  onProgress(share: number): void;
  signal: AbortSignal;
}

/**
 * Checks the lines of a batch as the API would, slice by slice: a file of any size neither blocks the page nor fills
 * the memory. Throws the reason of the signal.
 */
export async function checkBatchFile(file: Blob, { onProgress, signal }: CheckOptions): Promise<BatchCheck> {
  const check = new LineChecker();
  const decoder = new TextDecoder();
  let partial = '';
  for (let start = 0; start < file.size && !check.isFull; start += SLICE_BYTES) {
    const content = await file.slice(start, start + SLICE_BYTES).arrayBuffer();
    signal.throwIfAborted();
    const lines = (partial + decoder.decode(content, { stream: true })).split('\n');
    partial = lines.pop() ?? '';
    for (const line of lines) check.add(line);
    onProgress(Math.min(1, (start + SLICE_BYTES) / file.size));
  }
  check.add(partial + decoder.decode());
  return check.result();
}

/** Collects counts and defects of the lines of a batch file. */
class LineChecker {
  readonly #customIds = new Set<string>();
  readonly #defects: LineDefect[] = [];
  readonly #models = new Map<string, number>();
  #endpoint: BatchEndpoint | null = null;
  #line = 0;
  #requests = 0;
  #characters = 0;

  get isFull(): boolean {
    return this.#defects.length >= MAX_DEFECTS || this.#requests > BATCH_LIMITS.max_lines;
  }

  add(text: string): void {
    this.#line += 1;
    if (this.isFull || text.trim() === '') return;
    this.#requests += 1;
    const defect = this.#check(text);
    if (defect !== null) this.#defects.push({ line: this.#line, ...defect });
  }

  result(): BatchCheck {
    return {
      requests: this.#requests,
      defects: this.#defects,
      endpoint: this.#endpoint,
      models: this.#models,
      promptTokens: Math.ceil(this.#characters / CHARACTERS_PER_TOKEN),
      isComplete: !this.isFull,
    };
  }

  #check(text: string): Omit<LineDefect, 'line'> | null {
    if (this.#requests > BATCH_LIMITS.max_lines) return { code: 'too_many_requests_in_batch', param: null };
    if (text.length > BATCH_LIMITS.max_line_bytes) return { code: 'line_too_large', param: null };
    const line = parseJson(text, 'object');
    if (line === null) return { code: 'invalid_json_line', param: null };
    const customId = line['custom_id'];
    if (typeof customId !== 'string' || customId === '') return { code: 'missing_required_field', param: 'custom_id' };
    if (customId.length > BATCH_LIMITS.max_custom_id_characters)
      return { code: 'invalid_json_line', param: 'custom_id' };
    if (this.#customIds.has(customId)) return { code: 'duplicate_custom_id', param: 'custom_id' };
    this.#customIds.add(customId);
    return this.#checkRequest(line);
  }

  #checkRequest(line: Record<string, unknown>): Omit<LineDefect, 'line'> | null {
    if (typeof line['method'] !== 'string') return { code: 'missing_required_field', param: 'method' };
    if (line['method'] !== 'POST') return { code: 'invalid_method', param: 'method' };
    if (typeof line['url'] !== 'string') return { code: 'missing_required_field', param: 'url' };
    const endpoint = BATCH_ENDPOINTS.find((each) => each === line['url']);
    if (endpoint === undefined || (this.#endpoint !== null && endpoint !== this.#endpoint)) {
      return { code: 'invalid_url', param: 'url' };
    }
    const body = line['body'];
    if (body == null) return { code: 'missing_required_field', param: 'body' };
    if (!isObject(body)) return { code: 'invalid_json_line', param: 'body' };
    if (body['stream'] === true) return { code: 'streaming_unsupported', param: 'body.stream' };
    this.#endpoint ??= endpoint;
    const model = String(body['model'] ?? '');
    this.#models.set(model, (this.#models.get(model) ?? 0) + 1);
    this.#characters += countCharacters(body['messages'] ?? body['prompt'] ?? body['input']);
    return null;
  }
}

/** Characters of all texts in a value. */
function countCharacters(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return Object.values(value).reduce<number>((sum, item) => sum + countCharacters(item), 0);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

import { isRecord } from '../../../lib/json.ts';
import type { ChatPrompt, GenerationRequest } from '../../engine.ts';
import { remainingCompletionTokens } from '../context-overflow.ts';
import { findContextOverflow, rejectsField, type UpstreamError } from '../error-mapping.ts';
import type { ChunkReader, DialectRequest, GenerationDialect } from '../generation-dialect.ts';
import { forceJsonTool, JSON_TOOL, messageBody, type ThinkingForm } from './message-body.ts';
import { createMessageReader } from './message-reader.ts';
import { promptFields } from './message-turns.ts';

/** `max_tokens` of requests that name none, for models whose limit the server does not report. */
const DEFAULT_MAX_TOKENS = 8_192;

/** The form to try after the server has rejected another. */
const NEXT_FORM: Readonly<Record<ThinkingForm, ThinkingForm>> = { adaptive: 'budget', budget: 'none', none: 'none' };

/** Anthropic's message about a `max_tokens` above the limit of the model. */
const OUTPUT_LIMIT = /\bmax_tokens: \d+ > (\d+)/;

/** Words of errors about reasoning, and about structured outputs. */
const THINKING_FIELDS = ['thinking', 'effort', 'adaptive'];
const FORMAT_FIELDS = ['output_config', 'output_format', 'structured outputs?'];

/** Maximum bytes of a token count. */
const MAX_COUNT_BYTES = 64 * 1024;

/** Options of the dialect. */
export interface MessagesDialectOptions {
  /** The server's own name of the model. */
  model: string;
  /** The maximum of `max_tokens`, as the server reports it; null: not reported. */
  outputLimit(): number | null;
}

/** Anthropic's Messages API, version 2023-06-01. */
export class MessagesDialect implements GenerationDialect {
  readonly #options: MessagesDialectOptions;
  /** Stored for all requests, so that one request per model is rejected at most twice for it. */
  #thinking: ThinkingForm = 'adaptive';

  constructor(options: MessagesDialectOptions) {
    this.#options = options;
  }

  endpoint(): 'messages' {
    return 'messages';
  }

  prepare(request: GenerationRequest): DialectRequest {
    const thinking = this.#thinking;
    const defaultMaxTokens = this.#options.outputLimit() ?? DEFAULT_MAX_TOKENS;
    const hasEffort = request.upstreamParameters?.['reasoning_effort'] !== undefined;
    const body = messageBody(request, { model: this.#options.model, thinking, defaultMaxTokens });
    return {
      body,
      adapt: (upstreamError) => {
        const maxTokens = acceptedMaxTokens(upstreamError);
        if (maxTokens !== null && maxTokens < (request.maxTokens ?? defaultMaxTokens)) return { ...request, maxTokens };
        if (hasEffort && thinking !== 'none' && rejectsThinking(upstreamError)) {
          // Another request may have changed it already.
          if (this.#thinking === thinking) this.#thinking = NEXT_FORM[thinking];
          return request;
        }
        return withoutRejectedFormat(request, upstreamError);
      },
    };
  }

  createReader({ format }: GenerationRequest): ChunkReader {
    return createMessageReader(format.type === 'text' ? null : JSON_TOOL);
  }

  countTokens(prompt: ChatPrompt): ReturnType<GenerationDialect['countTokens']> {
    const body = JSON.stringify({ model: this.#options.model, ...promptFields(prompt) });
    const otherDialect = new Set([404, 405, 501]);
    return {
      request: { endpoint: 'messageTokens', body, param: 'messages', maxResponseBytes: MAX_COUNT_BYTES, otherDialect },
      read: (response) =>
        isRecord(response) && typeof response['input_tokens'] === 'number' ? response['input_tokens'] : null,
    };
  }
}

/** The `max_tokens` that the server would accept, where it rejects that of the request. */
function acceptedMaxTokens(upstreamError: UpstreamError): number | null {
  const overflow = findContextOverflow(upstreamError);
  if (overflow !== null) return remainingCompletionTokens(overflow);
  const limit = upstreamError.status === 400 ? OUTPUT_LIMIT.exec(upstreamError.upstreamMessage)?.[1] : undefined;
  return limit === undefined ? null : Number(limit);
}

const rejectsThinking = (upstreamError: UpstreamError): boolean =>
  THINKING_FIELDS.some((field) => rejectsField(upstreamError, field));

/** Models without structured outputs, and schemas that they do not support: the forced call of a tool instead. */
function withoutRejectedFormat(request: GenerationRequest, upstreamError: UpstreamError): GenerationRequest | null {
  const { prompt, format } = request;
  if (format.type !== 'json_schema' || prompt.kind !== 'chat' || prompt.tools.length > 0) return null;
  const isRejected = FORMAT_FIELDS.some((field) => rejectsField(upstreamError, field));
  return isRejected ? forceJsonTool(request, format.schema) : null;
}

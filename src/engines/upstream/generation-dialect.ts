import type { ChatPrompt, GenerationRequest } from '../engine.ts';
import type { Endpoints } from './base-url.ts';
import { rejectsField, type UpstreamError } from './error-mapping.ts';
import type { JsonRequest } from './json-request.ts';
import { type BodyFacts, requestBody } from './request-body.ts';
import type { UpstreamChunk } from './upstream-chunk.ts';

/** A generation request in the form of a server. */
export interface DialectRequest {
  body: string;
  /** Returns another form of a rejected request that the server may accept; null: there is no other form. */
  adapt(upstreamError: UpstreamError): GenerationRequest | null;
}

/** Converts an event of a stream, or a whole response, to OpenAI's form. Null: it has nothing for the completion. */
export type ChunkReader = (received: Record<string, unknown>) => UpstreamChunk | null;

/** The API in which a server generates. */
export interface GenerationDialect {
  endpoint(request: GenerationRequest): Exclude<keyof Endpoints, 'origin'>;
  /** Throws 400 `invalid_value` for a parameter that the API does not have. */
  prepare(request: GenerationRequest): DialectRequest;
  /** Returns the reader of one response to `request`. */
  createReader(request: GenerationRequest): ChunkReader;
  /** The request that counts the tokens of a prompt, and the count in its response. Null: the server cannot count. */
  countTokens(prompt: ChatPrompt): { request: JsonRequest; read(response: unknown): number | null } | null;
}

/** Parameters that only tune the answer: a server that does not know one, or its value, gets the request without it. */
const HINTS = ['reasoning_effort', 'verbosity'];

/** OpenAI's chat and text completions. `countTokens`: see `GenerationDialect`. */
export function createOpenAiDialect(
  facts: () => BodyFacts,
  countTokens: GenerationDialect['countTokens'],
): GenerationDialect {
  return {
    endpoint: ({ prompt }) => (prompt.kind === 'chat' ? 'chat' : 'text'),
    prepare: (request) => ({
      body: requestBody(request, facts()),
      adapt: (upstreamError) => withoutRejectedHint(request, upstreamError),
    }),
    createReader: () => (received) => received,
    countTokens,
  };
}

function withoutRejectedHint(request: GenerationRequest, upstreamError: UpstreamError): GenerationRequest | null {
  const { upstreamParameters = {} } = request;
  const hint = HINTS.find((name) => name in upstreamParameters && rejectsField(upstreamError, name));
  if (hint === undefined) return null;
  const { [hint]: _, ...others } = upstreamParameters;
  return { ...request, upstreamParameters: others };
}

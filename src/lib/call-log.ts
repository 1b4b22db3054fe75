import type { ApiError } from '../errors.ts';
import type { RecordedAnswer } from './recorded-answer.ts';
import { traceHeaders } from './trace-headers.ts';

/** Steps of one request that are stored; a turn loop may have more. */
const MAX_STEPS = 64;
/** Characters of a stored error message. */
const MAX_MESSAGE_CHARACTERS = 300;

/** What a request spent its time on. */
export type StepType = 'chat' | 'completion' | 'embedding' | 'rerank' | 'moderation' | 'screen' | 'search' | 'tool';

/** One step of a request. Times are milliseconds; `start_ms` is relative to the start of the request. */
export interface CallStep {
  type: StepType;
  /** Model id, or the name of the tool. */
  name: string;
  start_ms: number;
  duration_ms: number;
  /** Only of model calls. */
  queue_ms?: number;
  first_token_ms?: number | null;
  prompt_tokens?: number;
  completion_tokens?: number;
}

/** A model call that has ended: fields of its usage record. */
export interface EndedModelCall {
  operation?: Exclude<StepType, 'screen' | 'search' | 'tool'>;
  model: string;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  costMicros: number;
  durationMs: number;
  queueMs: number;
  firstTokenMs: number | null;
  isCacheHit: boolean | null;
}

/** Result of the guardrail policies of a request; null: no policy applied. */
export type GuardrailResult = 'passed' | 'flagged' | 'blocked' | null;

/** The error that ended a request. */
export interface LoggedError {
  status: number;
  code: string;
  message: string;
}

/** Whose request failed before its caller was known: the cause of a 401 for a revoked or expired key. */
export class KeyHolder {
  readonly organizationId: string;
  readonly keyId: string;

  constructor(organizationId: string, keyId: string) {
    this.organizationId = organizationId;
    this.keyId = keyId;
  }
}

/** Collects the steps of one request for the request log. */
export class CallLog {
  /** Milliseconds since 1970. */
  readonly startedAt = Date.now();
  /** Trace of OpenTelemetry; null unless the request is traced. */
  readonly traceId: string | null = parseTraceId(traceHeaders()['traceparent']);
  /** Model calls. */
  calls = 0;
  /** Model id of the last generation, or of the first other call. */
  model: string | null = null;
  promptTokens = 0;
  cachedTokens = 0;
  completionTokens = 0;
  costMicros = 0;
  queueMs = 0;
  /** From the start of the request to the first token that was streamed. */
  firstTokenMs: number | null = null;
  isCacheHit: boolean | null = null;
  guardrail: GuardrailResult = null;
  error: LoggedError | null = null;
  holder: KeyHolder | null = null;
  readonly steps: CallStep[] = [];
  /** Null if the organization does not record contents. */
  answer: RecordedAnswer | null = null;
  /** Whether the contents must not be recorded, as in chats. */
  isPrivate = false;
  /** Body of a request that did not arrive over HTTP, such as a line of a batch. */
  body: unknown;

  /** Adds a model call that has ended. `startedAt`: milliseconds since 1970. */
  addCall(record: EndedModelCall, startedAt: number): void {
    const { operation = 'chat', model, promptTokens, completionTokens, queueMs, firstTokenMs, durationMs } = record;
    const isGeneration = operation === 'chat' || operation === 'completion';
    this.calls += 1;
    if (isGeneration || this.model === null) this.model = model;
    this.promptTokens += promptTokens;
    this.cachedTokens += record.cachedTokens;
    this.completionTokens += completionTokens;
    this.costMicros += record.costMicros;
    this.queueMs += queueMs;
    if (record.isCacheHit !== null) this.isCacheHit = record.isCacheHit || this.isCacheHit === true;
    const start = Math.max(0, startedAt - this.startedAt);
    if (firstTokenMs !== null) this.firstTokenMs ??= start + firstTokenMs;
    this.#add({
      ...{ type: operation, name: model, start_ms: start, duration_ms: durationMs, queue_ms: queueMs },
      ...(isGeneration && { first_token_ms: firstTokenMs }),
      ...{ prompt_tokens: promptTokens, completion_tokens: completionTokens },
    });
  }

  /** Adds a step that ends now. `startedAt`: milliseconds since 1970. */
  addStep(type: StepType, name: string, startedAt: number): void {
    const start = Math.max(0, startedAt - this.startedAt);
    this.#add({ type, name, start_ms: start, duration_ms: Math.max(0, Date.now() - startedAt) });
  }

  /** Adds the screening of texts by a policy. The strictest result of a request is kept. */
  addScreening(stage: 'input' | 'output', result: NonNullable<GuardrailResult>, startedAt: number): void {
    const order = ['passed', 'flagged', 'blocked'] as const;
    if (this.guardrail === null || order.indexOf(result) > order.indexOf(this.guardrail)) this.guardrail = result;
    this.addStep('screen', stage, startedAt);
  }

  /** Notes the error that the caller gets. */
  fail({ status, code, message, cause }: ApiError): void {
    this.error = { status, code, message: message.slice(0, MAX_MESSAGE_CHARACTERS).toWellFormed() };
    if (cause instanceof KeyHolder) this.holder = cause;
  }

  #add(step: CallStep): void {
    if (this.steps.length < MAX_STEPS) this.steps.push(step);
  }
}

/** The trace id of a W3C `traceparent`; null when it is absent or malformed. */
export function parseTraceId(traceparent: unknown): string | null {
  if (typeof traceparent !== 'string') return null;
  return /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(traceparent)?.[1] ?? null;
}

/** A request that has ended, as the request log stores it. */
export interface LoggedCall extends Readonly<KeyHolder> {
  /** `req_...`; a later entry of the same request replaces the earlier one. */
  requestId: string;
  /** The route, such as `/v1/chat/completions`. */
  route: string;
  status: number;
  durationMs: number;
  isBatch: boolean;
  traceId: string | null;
  /** Body, for the model id of rejected requests and the recording of contents. Undefined if it was not read. */
  body?: unknown;
  log: CallLog;
}

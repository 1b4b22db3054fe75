import {
  type Attributes,
  type Context,
  context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import type { OtlpConfig } from '../config/otlp.ts';
import type { App } from '../http/app.ts';
import { type TraceHeaders, traceHeaders, withTraceHeaders } from '../lib/trace-headers.ts';
import type { UsageRecord } from '../lib/usage-record.ts';
import { type ExportedParts, startTelemetrySdk, type TelemetrySdk } from './exporter.ts';
import { Instruments } from './instruments.ts';

/** A request in flight. */
interface TracedRequest {
  span: Span;
  startedAtMs: number;
}

/** What the measurements of a request say about it. */
interface EndedRequest {
  id: string;
  method: string;
  protocol: string;
  routeOptions: { url?: string | undefined };
}

/** Requests of probes, which would fill the trace store. */
const UNTRACED: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** How long the model call of a client that left still finds its request: it ends when the engine has stopped. */
const LATE_CALL_MS = 10_000;

/** Operations of the GenAI semantic conventions, which have no name for reranking and moderation. */
const OPERATIONS: Readonly<Record<NonNullable<UsageRecord['operation']>, string>> = {
  chat: 'chat',
  completion: 'text_completion',
  embedding: 'embeddings',
  rerank: 'rerank',
  moderation: 'moderation',
};

const propagator = new W3CTraceContextPropagator();

/**
 * Traces of requests, model calls and jobs, and their metrics, by the semantic conventions of OpenTelemetry for HTTP,
 * GenAI and messaging. Nothing exported has a prompt, an answer or a key.
 */
export class Telemetry {
  readonly #sdk: TelemetrySdk;
  readonly #tracer: Tracer;
  readonly #instruments: Instruments;
  /** Requests in flight by id: a streamed answer leaves the asynchronous context of its request. */
  readonly #requests = new Map<string, TracedRequest>();

  constructor(settings: OtlpConfig, parts: ExportedParts) {
    this.#sdk = startTelemetrySdk(settings, parts);
    this.#tracer = this.#sdk.traces.getTracer('quire', parts.version);
    this.#instruments = new Instruments(this.#sdk.meters.getMeter('quire', parts.version));
  }

  /** Adds a server span for each request; the caller's `traceparent` is its parent and decides on sampling. */
  traceRequests(app: App): void {
    app.addHook('onRequest', (request, reply, done) => {
      const route = request.routeOptions.url;
      if (UNTRACED.has(route ?? '')) return done();
      const caller = propagator.extract(ROOT_CONTEXT, request.headers, defaultTextMapGetter);
      const attributes = {
        'http.request.method': request.method,
        'url.path': request.url.split('?')[0] ?? '',
        'url.scheme': request.protocol,
        'quire.request.id': request.id,
        ...(route !== undefined && { 'http.route': route }),
      };
      const name = route === undefined ? request.method : `${request.method} ${route}`;
      const span = this.#tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, caller);
      this.#requests.set(request.id, { span, startedAtMs: performance.now() });
      // A client that leaves: there is no response to wait for, and its model call is recorded a little later.
      reply.raw.once('close', () => {
        if (reply.raw.writableFinished || !this.#requests.has(request.id)) return;
        this.#endRequest(request, reply.statusCode, { 'error.type': 'client_disconnected' });
        setTimeout(() => this.#requests.delete(request.id), LATE_CALL_MS).unref();
      });
      withTraceHeaders(injectHeaders(trace.setSpan(caller, span)), done);
    });
    app.addHook('onResponse', (request, reply, done) => {
      this.#endRequest(request, reply.statusCode);
      this.#requests.delete(request.id);
      done();
    });
  }

  #endRequest({ id, method, protocol, routeOptions }: EndedRequest, status: number, error?: Attributes): void {
    const traced = this.#requests.get(id);
    if (traced === undefined) return;
    const { span, startedAtMs } = traced;
    const outcome: Attributes = {
      'http.response.status_code': status,
      ...(status >= 500 && { 'error.type': String(status) }),
      ...error,
    };
    span.setAttributes(outcome);
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
    const route = routeOptions.url === undefined ? {} : { 'http.route': routeOptions.url };
    const attributes = { 'http.request.method': method, 'url.scheme': protocol, ...outcome, ...route };
    this.#instruments.recordRequest((performance.now() - startedAtMs) / 1000, attributes);
  }

  /** Adds the span and the measurements of a model call that has ended. */
  traceCall(record: UsageRecord): void {
    const request = this.#requests.get(record.requestId);
    const parent = request === undefined ? currentContext() : trace.setSpan(ROOT_CONTEXT, request.span);
    const operation = OPERATIONS[record.operation ?? 'chat'];
    const endTime = Date.now();
    const hasFailed = record.outcome === 'failed';
    const call: Attributes = {
      'gen_ai.operation.name': operation,
      'gen_ai.provider.name': 'quire',
      'gen_ai.request.model': record.model,
      'gen_ai.response.model': record.model,
      // The class of an error is not recorded; `_OTHER` is the value for that.
      ...(hasFailed && { 'error.type': '_OTHER' }),
    };
    const attributes: Attributes = {
      ...call,
      'gen_ai.usage.input_tokens': record.promptTokens,
      'gen_ai.usage.output_tokens': record.completionTokens,
      'gen_ai.usage.cache_read.input_tokens': record.cachedTokens,
      ...(record.finishReason !== null && { 'gen_ai.response.finish_reasons': [record.finishReason] }),
      ...(record.firstTokenMs !== null && { 'gen_ai.response.time_to_first_chunk': record.firstTokenMs / 1000 }),
      'quire.organization.id': record.organizationId,
      'quire.key.id': record.keyId,
      'quire.outcome': record.outcome,
      'quire.queue_ms': record.queueMs,
    };
    const startTime = endTime - record.durationMs;
    const span = this.#tracer.startSpan(
      `${operation} ${record.model}`,
      { kind: SpanKind.CLIENT, startTime, attributes },
      parent,
    );
    if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(endTime);
    this.#instruments.recordCall(record, call);
  }

  /**
   * Runs a job in a trace of its own, whose model calls are its children. `headers`, the trace context in which the job
   * was enqueued, becomes a link.
   */
  async traceJob(name: string, headers: TraceHeaders, run: () => Promise<void>): Promise<void> {
    const attributes = {
      'messaging.system': 'pg-boss',
      'messaging.operation.type': 'process',
      'messaging.operation.name': 'process',
      'messaging.destination.name': name,
    };
    const enqueuer = trace.getSpanContext(propagator.extract(ROOT_CONTEXT, headers, defaultTextMapGetter));
    const links = enqueuer === undefined ? [] : [{ context: enqueuer }];
    const options = { kind: SpanKind.CONSUMER, attributes, links, root: true };
    const span = this.#tracer.startSpan(`process ${name}`, options);
    try {
      await withTraceHeaders(injectHeaders(trace.setSpan(ROOT_CONTEXT, span)), run);
    } catch (error) {
      span.setAttribute('error.type', error instanceof Error ? error.name : '_OTHER');
      span.setStatus({ code: SpanStatusCode.ERROR });
      throw error;
    } finally {
      span.end();
    }
  }

  /** Exports the data that is still buffered, for a bounded time. */
  close(): Promise<void> {
    return this.#sdk.close();
  }
}

function injectHeaders(traced: Context): TraceHeaders {
  const headers: Record<string, string> = {};
  propagator.inject(traced, headers, defaultTextMapSetter);
  return headers;
}

/** The context of the job or request that runs now. */
const currentContext = (): Context => propagator.extract(context.active(), traceHeaders(), defaultTextMapGetter);

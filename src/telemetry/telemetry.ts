import { randomBytes } from 'node:crypto';
import type { Registry } from 'prom-client';
import type { App } from '../http/app.ts';
import type { Logger } from '../lib/logger.ts';
import type { UsageRecord } from '../lib/usage-record.ts';
import { attributes, OtlpClient, type OtlpSettings } from './otlp-client.ts';
import { readOtlpMetrics } from './otlp-metrics.ts';

/** Place of a request in its trace. */
interface TraceContext {
  traceId: string;
  spanId: string;
  parentSpanId: string | null;
  startedAtMs: number;
}

/** W3C Trace Context, version 00: trace id, id of the caller's span, flags. */
const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const SAMPLED = 1;
/** Requests of probes, which would fill the trace store. */
const UNTRACED: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics']);

/** Operations of the GenAI semantic conventions by route. */
const OPERATIONS: Readonly<Record<string, string>> = {
  '/v1/chat/completions': 'chat',
  '/v1/responses': 'chat',
  '/v1/completions': 'text_completion',
  '/v1/embeddings': 'embeddings',
};

/** Traces of requests and model calls, and the metrics of the process, exported over OTLP. */
export class Telemetry {
  readonly #client: OtlpClient;
  /** Traces of requests in flight, by request id. */
  readonly #contexts = new Map<string, TraceContext>();

  constructor(
    settings: OtlpSettings,
    { version, metrics, logger }: { version: string; metrics: Registry; logger: Logger },
  ) {
    const startedAtMs = Date.now();
    const readMetrics = () => readOtlpMetrics(metrics, startedAtMs, Date.now());
    this.#client = new OtlpClient(settings, version, logger, readMetrics);
  }

  /** Adds a server span for each request; the `traceparent` of the caller is its parent. */
  traceRequests(app: App): void {
    app.addHook('onRequest', (request, _reply, done) => {
      const context = startContext(request.headers['traceparent']);
      if (context !== null && !UNTRACED.has(request.routeOptions.url ?? '')) this.#contexts.set(request.id, context);
      done();
    });
    app.addHook('onResponse', (request, reply, done) => {
      const context = this.#contexts.get(request.id);
      this.#contexts.delete(request.id);
      if (context === undefined) return done();
      const { method, routeOptions } = request;
      const { statusCode } = reply;
      this.#client.addSpan({
        traceId: context.traceId,
        spanId: context.spanId,
        ...(context.parentSpanId !== null && { parentSpanId: context.parentSpanId }),
        name: `${method} ${routeOptions.url ?? ''}`.trim(),
        kind: 2,
        startTimeUnixNano: nanoseconds(context.startedAtMs),
        endTimeUnixNano: nanoseconds(Date.now()),
        attributes: attributes({
          'http.request.method': method,
          'http.route': routeOptions.url,
          'http.response.status_code': statusCode,
          'quire.request.id': request.id,
        }),
        status: { code: statusCode >= 500 ? 2 : 0 },
      });
      done();
    });
  }

  /** Adds a span for a model call, by the semantic conventions for GenAI. Has no prompt, answer or key. */
  traceCall(record: UsageRecord): void {
    const context = this.#contexts.get(record.requestId);
    const operation = OPERATIONS[record.endpoint] ?? record.endpoint.split('/').at(-1) ?? '';
    const endedAtMs = Date.now();
    this.#client.addSpan({
      traceId: context?.traceId ?? randomHex(16),
      spanId: randomHex(8),
      ...(context !== undefined && { parentSpanId: context.spanId }),
      name: `${operation} ${record.model}`,
      kind: 1,
      startTimeUnixNano: nanoseconds(endedAtMs - record.durationMs),
      endTimeUnixNano: nanoseconds(endedAtMs),
      attributes: attributes({
        'gen_ai.operation.name': operation,
        'gen_ai.provider.name': 'quire',
        'gen_ai.request.model': record.model,
        'gen_ai.usage.input_tokens': record.promptTokens,
        'gen_ai.usage.output_tokens': record.completionTokens,
        'gen_ai.usage.cache_read.input_tokens': record.cachedTokens,
        'gen_ai.response.finish_reasons': record.finishReason === null ? undefined : [record.finishReason],
        'error.type': record.outcome === 'failed' ? 'failed' : undefined,
        'quire.outcome': record.outcome,
        'quire.queue_ms': record.queueMs,
      }),
      status: { code: record.outcome === 'failed' ? 2 : 0 },
    });
  }

  /** Exports the spans that are still buffered. */
  close(): Promise<void> {
    return this.#client.close();
  }
}

/** Null when the caller does not want the request to be traced. */
function startContext(traceparent: string | string[] | undefined): TraceContext | null {
  const [, traceId, parentSpanId = null, flags = '01'] = TRACEPARENT.exec(String(traceparent ?? '')) ?? [];
  if ((Number.parseInt(flags, 16) & SAMPLED) === 0) return null;
  return { traceId: traceId ?? randomHex(16), spanId: randomHex(8), parentSpanId, startedAtMs: Date.now() };
}

const randomHex = (bytes: number): string => randomBytes(bytes).toString('hex');
const nanoseconds = (ms: number): string => `${Math.round(ms)}000000`;

import type { Logger } from '../lib/logger.ts';
import { describeError } from '../lib/operator-error.ts';

/** Where and as what telemetry is exported, from the standard `OTEL_` variables. */
export interface OtlpSettings {
  /** Base URL of an OTLP/HTTP collector, such as `http://localhost:4318`. */
  endpoint: string;
  headers: Record<string, string>;
  serviceName: string;
  /** Interval of metric exports. */
  metricIntervalMs: number;
}

/** A span in the JSON encoding of OTLP. Times are Unix nanoseconds. */
export interface OtlpSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  /** 1: internal, 2: server, 3: client. */
  kind: 1 | 2 | 3;
  startTimeUnixNano: string;
  endTimeUnixNano: string;
  attributes: OtlpAttribute[];
  /** Code 2: error. */
  status: { code: 0 | 2 };
}

/** An attribute in the JSON encoding of OTLP. */
export interface OtlpAttribute {
  key: string;
  value: object;
}

const EXPORT_INTERVAL_MS = 5_000;
/** Defaults of the batch span processor of OpenTelemetry: further spans are dropped, and a request has at most 512. */
const MAX_QUEUED_SPANS = 2_048;
const MAX_SPANS_PER_REQUEST = 512;
const REQUEST_TIMEOUT_MS = 10_000;

/** Encodes attributes; undefined and null values are left out. */
export function attributes(values: Readonly<Record<string, unknown>>): OtlpAttribute[] {
  return Object.entries(values).flatMap(([key, value]) => {
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return [{ key, value: { arrayValue: { values: value.map(encode) } } }];
    return [{ key, value: encode(value) }];
  });
}

function encode(value: unknown): object {
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value !== 'number') return { stringValue: String(value) };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Exports spans and metrics to an OTLP/HTTP collector in JSON. A collector that does not answer loses data, never requests. */
export class OtlpClient {
  readonly #settings: OtlpSettings;
  readonly #logger: Logger;
  readonly #resource: object;
  readonly #readMetrics: () => Promise<object[]>;
  readonly #timers: NodeJS.Timeout[];
  #spans: OtlpSpan[] = [];
  #dropped = 0;

  /** `readMetrics` returns the metrics in the JSON encoding of OTLP. */
  constructor(settings: OtlpSettings, version: string, logger: Logger, readMetrics: () => Promise<object[]>) {
    this.#settings = settings;
    this.#logger = logger;
    this.#readMetrics = readMetrics;
    this.#resource = { attributes: attributes({ 'service.name': settings.serviceName, 'service.version': version }) };
    this.#timers = [
      setInterval(() => void this.#exportSpans(), EXPORT_INTERVAL_MS).unref(),
      setInterval(() => void this.#exportMetrics(), settings.metricIntervalMs).unref(),
    ];
  }

  addSpan(span: OtlpSpan): void {
    if (this.#spans.length < MAX_QUEUED_SPANS) this.#spans.push(span);
    else this.#dropped += 1;
  }

  /** Exports everything once more and stops. */
  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all([this.#exportSpans(), this.#exportMetrics()]);
  }

  async #exportSpans(): Promise<void> {
    if (this.#dropped > 0) this.#logger.warn({ spans: this.#dropped }, 'spans dropped, the collector is too slow');
    this.#dropped = 0;
    const queued = this.#spans;
    this.#spans = [];
    for (let from = 0; from < queued.length; from += MAX_SPANS_PER_REQUEST) {
      const spans = queued.slice(from, from + MAX_SPANS_PER_REQUEST);
      const scopeSpans = [{ scope: { name: 'quire' }, spans }];
      await this.#post('traces', { resourceSpans: [{ resource: this.#resource, scopeSpans }] });
    }
  }

  async #exportMetrics(): Promise<void> {
    const metrics = await this.#readMetrics();
    const scopeMetrics = [{ scope: { name: 'quire' }, metrics }];
    await this.#post('metrics', { resourceMetrics: [{ resource: this.#resource, scopeMetrics }] });
  }

  async #post(signal: 'traces' | 'metrics', body: object): Promise<void> {
    const { endpoint, headers } = this.#settings;
    try {
      const response = await fetch(`${endpoint.replace(/\/+$/, '')}/v1/${signal}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      });
      await response.body?.cancel();
      if (!response.ok) throw new Error(`the collector answered with status ${response.status}`);
    } catch (error) {
      this.#logger.warn({ signal, error: describeError(error) }, 'telemetry not exported');
    }
  }
}

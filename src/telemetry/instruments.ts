import type { Attributes, Histogram, Meter } from '@opentelemetry/api';
import type { UsageRecord } from '../lib/usage-record.ts';

/** Bucket bounds that the semantic conventions advise. */
const REQUEST_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const CALL_SECONDS = Array.from({ length: 14 }, (_, exponent) => 0.01 * 2 ** exponent);
const FIRST_TOKEN_SECONDS = [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];
const TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5];
const TOKENS = Array.from({ length: 14 }, (_, exponent) => 4 ** exponent);

/** Histograms by the semantic conventions of OpenTelemetry for HTTP servers and GenAI. */
export class Instruments {
  readonly #requestSeconds: Histogram;
  readonly #callSeconds: Histogram;
  readonly #firstTokenSeconds: Histogram;
  readonly #tokenSeconds: Histogram;
  readonly #tokens: Histogram;

  constructor(meter: Meter) {
    const histogram = (name: string, unit: string, description: string, explicitBucketBoundaries: number[]) =>
      meter.createHistogram(name, { unit, description, advice: { explicitBucketBoundaries } });
    this.#requestSeconds = histogram(
      'http.server.request.duration',
      's',
      'Duration of HTTP server requests.',
      REQUEST_SECONDS,
    );
    this.#callSeconds = histogram('gen_ai.server.request.duration', 's', 'Duration of model calls.', CALL_SECONDS);
    this.#firstTokenSeconds = histogram(
      'gen_ai.server.time_to_first_token',
      's',
      'Time to the first token of streamed generations.',
      FIRST_TOKEN_SECONDS,
    );
    this.#tokenSeconds = histogram(
      'gen_ai.server.time_per_output_token',
      's',
      'Time per token after the first one of streamed generations.',
      TOKEN_SECONDS,
    );
    this.#tokens = histogram('gen_ai.client.token.usage', '{token}', 'Tokens of model calls.', TOKENS);
  }

  recordRequest(seconds: number, attributes: Attributes): void {
    this.#requestSeconds.record(seconds, attributes);
  }

  recordCall(
    { durationMs, firstTokenMs, promptTokens, completionTokens, outcome }: UsageRecord,
    attributes: Attributes,
  ): void {
    this.#callSeconds.record(durationMs / 1000, attributes);
    if (firstTokenMs !== null && outcome === 'completed') {
      this.#firstTokenSeconds.record(firstTokenMs / 1000, attributes);
      if (completionTokens > 1)
        this.#tokenSeconds.record((durationMs - firstTokenMs) / 1000 / (completionTokens - 1), attributes);
    }
    this.#tokens.record(promptTokens, { ...attributes, 'gen_ai.token.type': 'input' });
    this.#tokens.record(completionTokens, { ...attributes, 'gen_ai.token.type': 'output' });
  }
}

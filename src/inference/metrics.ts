import { Histogram, type Registry } from 'prom-client';
import type { GenerationUsage } from '../engines/engine.ts';
import { addCounter, addGauge, oncePerRegistry } from '../lib/metrics.ts';
import type { UsageOutcome } from '../lib/usage-record.ts';
import type { CallKind } from './call-kinds.ts';

/** A call that has ended. */
export interface EndedCall {
  model: string;
  outcome: UsageOutcome;
  usage: GenerationUsage;
  /** Texts in the request. */
  inputs: number;
  /** Time in the queue of the engine, in milliseconds. */
  queueMs: number;
}

/** Histogram buckets in seconds, from an idle engine to a queue that clients give up on. */
const QUEUE_BUCKETS = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

const queueHistogram = oncePerRegistry(
  (registry) =>
    new Histogram({
      name: 'quire_call_queue_seconds',
      help: 'Time that completed calls waited in the queue of their engine.',
      labelNames: ['model'] as const,
      buckets: QUEUE_BUCKETS,
      registers: [registry],
    }),
);

/** Metrics of one kind of model call. Label values are model ids of the registry, so they are bounded. */
export interface CallMetrics {
  started(): void;
  ended(call: EndedCall): void;
}

const metricsByKind = oncePerRegistry((): Map<string, CallMetrics> => new Map());

/** Returns the metrics of a kind in a registry, registered on first use. Chat and completion share theirs. */
export function callMetrics(registry: Registry, kind: CallKind): CallMetrics {
  const byKind = metricsByKind(registry);
  const isGeneration = kind === 'chat' || kind === 'completion';
  const name = isGeneration ? 'generation' : kind;
  const metrics =
    byKind.get(name) ??
    withQueueTime(registry, isGeneration ? generationMetrics(registry) : textMetrics(registry, kind));
  byKind.set(name, metrics);
  return metrics;
}

/** Adds the queue time, which is known of completed calls. */
function withQueueTime(registry: Registry, { started, ended }: CallMetrics): CallMetrics {
  const seconds = queueHistogram(registry);
  return {
    started,
    ended: (call) => {
      ended(call);
      if (call.outcome === 'completed') seconds.observe({ model: call.model }, call.queueMs / 1000);
    },
  };
}

function generationMetrics(registry: Registry): CallMetrics {
  const inFlight = addGauge(registry, 'quire_generations_in_flight', 'Generations that hold an engine now.');
  const total = addCounter(registry, 'quire_generations_total', 'Generations that ended.', ['model', 'outcome']);
  const tokens = addCounter(registry, 'quire_tokens_total', 'Tokens of ended generations.', ['model', 'kind']);
  return {
    started: () => inFlight.inc(),
    ended: ({ model, outcome, usage }) => {
      inFlight.dec();
      total.inc({ model, outcome });
      tokens.inc({ model, kind: 'prompt' }, usage.promptTokens);
      tokens.inc({ model, kind: 'completion' }, usage.completionTokens);
    },
  };
}

/** Metrics of calls that read texts and generate none. */
function textMetrics(registry: Registry, kind: 'embedding' | 'rerank' | 'moderation'): CallMetrics {
  const calls = `Calls for ${kind} that`;
  const inFlight = addGauge(registry, `quire_${kind}s_in_flight`, `${calls} are queued or computed now.`);
  const total = addCounter(registry, `quire_${kind}s_total`, `${calls} ended.`, ['model', 'outcome']);
  const texts = addCounter(registry, `quire_${kind}_texts_total`, `Texts of calls for ${kind} that ended.`, ['model']);
  const tokens = addCounter(registry, `quire_${kind}_tokens_total`, `Tokens that were read for ${kind}.`, ['model']);
  return {
    started: () => inFlight.inc(),
    ended: ({ model, outcome, usage, inputs }) => {
      inFlight.dec();
      total.inc({ model, outcome });
      texts.inc({ model }, inputs);
      tokens.inc({ model }, usage.promptTokens);
    },
  };
}

import { Counter, Gauge, type Registry } from 'prom-client';
import type { GenerationUsage } from '../engines/engine.ts';
import type { UsageOutcome } from '../lib/usage-record.ts';
import type { CallKind } from './call-kinds.ts';

/** A call that has ended. */
export interface EndedCall {
  model: string;
  outcome: UsageOutcome;
  usage: GenerationUsage;
  /** Texts in the request. */
  inputs: number;
}

/** Metrics of one kind of model call. Label values are model ids of the registry, so they are bounded. */
export interface CallMetrics {
  started(): void;
  ended(call: EndedCall): void;
}

const metricsByRegistry = new WeakMap<Registry, Map<string, CallMetrics>>();

/** Returns the metrics of a kind in a registry, registered on first use. Chat and completion share theirs. */
export function callMetrics(registry: Registry, kind: CallKind): CallMetrics {
  const byKind = metricsByRegistry.get(registry) ?? new Map<string, CallMetrics>();
  metricsByRegistry.set(registry, byKind);
  const isGeneration = kind === 'chat' || kind === 'completion';
  const name = isGeneration ? 'generation' : kind;
  const metrics = byKind.get(name) ?? (isGeneration ? generationMetrics(registry) : textMetrics(registry, kind));
  byKind.set(name, metrics);
  return metrics;
}

function generationMetrics(registry: Registry): CallMetrics {
  const registers = [registry];
  const inFlight = new Gauge({
    name: 'quire_generations_in_flight',
    help: 'Generations that hold an engine now.',
    registers,
  });
  const total = new Counter({
    name: 'quire_generations_total',
    help: 'Generations that ended.',
    labelNames: ['model', 'outcome'] as const,
    registers,
  });
  const tokens = new Counter({
    name: 'quire_tokens_total',
    help: 'Tokens of ended generations.',
    labelNames: ['model', 'kind'] as const,
    registers,
  });
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
  const registers = [registry];
  const inFlight = new Gauge({
    name: `quire_${kind}s_in_flight`,
    help: `Calls for ${kind} that are queued or computed now.`,
    registers,
  });
  const total = new Counter({
    name: `quire_${kind}s_total`,
    help: `Calls for ${kind} that ended.`,
    labelNames: ['model', 'outcome'] as const,
    registers,
  });
  const texts = new Counter({
    name: `quire_${kind}_texts_total`,
    help: `Texts of calls for ${kind} that ended.`,
    labelNames: ['model'] as const,
    registers,
  });
  const tokens = new Counter({
    name: `quire_${kind}_tokens_total`,
    help: `Tokens that were read for ${kind}.`,
    labelNames: ['model'] as const,
    registers,
  });
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

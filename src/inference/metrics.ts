import { Counter, Gauge, type Registry } from 'prom-client';
import type { UsageOutcome } from '../lib/usage-record.ts';

/** What the operator sees of generations at `/metrics`. */
export interface GenerationMetrics {
  started(): void;
  ended(model: string, outcome: UsageOutcome, promptTokens: number, completionTokens: number): void;
}

const metricsOfRegistry = new WeakMap<Registry, GenerationMetrics>();

/** The generation metrics of a registry, made on first use. Labels are model ids of the registry, so they are bounded. */
export function generationMetrics(registry: Registry): GenerationMetrics {
  const known = metricsOfRegistry.get(registry);
  if (known !== undefined) return known;
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
  const made: GenerationMetrics = {
    started: () => inFlight.inc(),
    ended: (model, outcome, promptTokens, completionTokens) => {
      inFlight.dec();
      total.inc({ model, outcome });
      tokens.inc({ model, kind: 'prompt' }, promptTokens);
      tokens.inc({ model, kind: 'completion' }, completionTokens);
    },
  };
  metricsOfRegistry.set(registry, made);
  return made;
}

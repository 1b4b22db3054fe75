import { Counter, Gauge, type Registry } from 'prom-client';
import type { UsageOutcome } from '../lib/usage-record.ts';

/** What a model is called for, where the answer is not a text. */
export type Task = 'moderation' | 'embedding' | 'rerank';

/** What the operator sees at `/metrics` of calls for one task. */
export interface TaskMetrics {
  started(): void;
  /** `texts` were given; `tokens` is 0 where none were read. */
  ended(model: string, outcome: UsageOutcome, texts: number, tokens: number): void;
}

const metricsOfRegistry = new WeakMap<Registry, Map<Task, TaskMetrics>>();

/** The metrics of a task in a registry, made on first use. Labels are model ids of the registry, so they are bounded. */
export function taskMetrics(registry: Registry, task: Task): TaskMetrics {
  const known = metricsOfRegistry.get(registry) ?? new Map<Task, TaskMetrics>();
  metricsOfRegistry.set(registry, known);
  const made = known.get(task) ?? makeMetrics(registry, task);
  known.set(task, made);
  return made;
}

function makeMetrics(registry: Registry, task: Task): TaskMetrics {
  const registers = [registry];
  const inFlight = new Gauge({
    name: `quire_${task}s_in_flight`,
    help: `Calls for ${task} that wait for an engine or are answered now.`,
    registers,
  });
  const total = new Counter({
    name: `quire_${task}s_total`,
    help: `Calls for ${task} that ended.`,
    labelNames: ['model', 'outcome'] as const,
    registers,
  });
  const texts = new Counter({
    name: `quire_${task}_texts_total`,
    help: `Texts of calls for ${task} that ended.`,
    labelNames: ['model'] as const,
    registers,
  });
  const tokens = new Counter({
    name: `quire_${task}_tokens_total`,
    help: `Tokens that were read for ${task}.`,
    labelNames: ['model'] as const,
    registers,
  });
  return {
    started: () => inFlight.inc(),
    ended: (model, outcome, textCount, tokenCount) => {
      inFlight.dec();
      total.inc({ model, outcome });
      texts.inc({ model }, textCount);
      tokens.inc({ model }, tokenCount);
    },
  };
}

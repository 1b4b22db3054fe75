import { Counter, Gauge, type Registry } from 'prom-client';
import type { UsageOutcome } from '../lib/usage-record.ts';

/** What the operator sees of moderations at `/metrics`. */
export interface ModerationMetrics {
  started(): void;
  /** `texts` were given; `tokens` is 0 where none were judged. */
  ended(model: string, outcome: UsageOutcome, texts: number, tokens: number): void;
}

const metricsOfRegistry = new WeakMap<Registry, ModerationMetrics>();

/** The moderation metrics of a registry, made on first use. Labels are model ids of the registry, so they are bounded. */
export function moderationMetrics(registry: Registry): ModerationMetrics {
  const known = metricsOfRegistry.get(registry);
  if (known !== undefined) return known;
  const registers = [registry];
  const inFlight = new Gauge({
    name: 'quire_moderations_in_flight',
    help: 'Moderation calls that wait for an engine or are judged now.',
    registers,
  });
  const total = new Counter({
    name: 'quire_moderations_total',
    help: 'Moderation calls that ended.',
    labelNames: ['model', 'outcome'] as const,
    registers,
  });
  const texts = new Counter({
    name: 'quire_moderation_texts_total',
    help: 'Texts of moderation calls that ended.',
    labelNames: ['model'] as const,
    registers,
  });
  const tokens = new Counter({
    name: 'quire_moderation_tokens_total',
    help: 'Tokens that were read to judge texts.',
    labelNames: ['model'] as const,
    registers,
  });
  const made: ModerationMetrics = {
    started: () => inFlight.inc(),
    ended: (model, outcome, textCount, tokenCount) => {
      inFlight.dec();
      total.inc({ model, outcome });
      texts.inc({ model }, textCount);
      tokens.inc({ model }, tokenCount);
    },
  };
  metricsOfRegistry.set(registry, made);
  return made;
}

import { Counter, Gauge, type Registry } from 'prom-client';
import type { BatchStatus } from './schema.ts';

/** How a line got its result. */
export type LineOutcome = 'completed' | 'failed' | 'cancelled' | 'expired';

/** Metrics of the batches that this process runs. Label values are bounded. */
export interface BatchMetrics {
  /** This process works on a batch in this state until the returned function is called. */
  stepStarted(status: BatchStatus): () => void;
  /** A batch has reached its final state. */
  ended(status: BatchStatus): void;
  /** Lines have stored results. */
  linesEnded(outcome: LineOutcome, count: number): void;
  /** A line is attempted until the returned function is called. */
  lineStarted(): () => void;
  /** An attempt of a line has failed, and the line waits for the next one. */
  lineRetried(): void;
}

const metricsByRegistry = new WeakMap<Registry, BatchMetrics>();

/** Returns the metrics of batches in a registry, registered on first use. */
export function batchMetrics(registry: Registry): BatchMetrics {
  const known = metricsByRegistry.get(registry) ?? registerMetrics(registry);
  metricsByRegistry.set(registry, known);
  return known;
}

function registerMetrics(registry: Registry): BatchMetrics {
  const registers = [registry];
  const running = new Gauge({
    name: 'quire_batches_running',
    help: 'Batches that this process works on, by state.',
    labelNames: ['status'] as const,
    registers,
  });
  const total = new Counter({
    name: 'quire_batches_total',
    help: 'Batches that ended.',
    labelNames: ['status'] as const,
    registers,
  });
  const lines = new Counter({
    name: 'quire_batch_lines_total',
    help: 'Lines of batches that got their result.',
    labelNames: ['outcome'] as const,
    registers,
  });
  const inFlight = new Gauge({
    name: 'quire_batch_lines_in_flight',
    help: 'Lines of batches that are attempted now.',
    registers,
  });
  const retries = new Counter({
    name: 'quire_batch_line_retries_total',
    help: 'Attempts of batch lines that failed and are repeated.',
    registers,
  });
  return {
    stepStarted: (status) => {
      running.inc({ status });
      return () => running.dec({ status });
    },
    ended: (status) => total.inc({ status }),
    linesEnded: (outcome, count) => lines.inc({ outcome }, count),
    lineStarted: () => {
      inFlight.inc();
      return () => inFlight.dec();
    },
    lineRetried: () => retries.inc(),
  };
}

import type { Registry } from 'prom-client';
import { addCounter, addGauge, oncePerRegistry } from '../lib/metrics.ts';
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

/** Returns the metrics of batches in a registry, registered on first use. */
export const batchMetrics: (registry: Registry) => BatchMetrics = oncePerRegistry((registry) => {
  const running = addGauge(registry, 'quire_batches_running', 'Batches that this process works on, by state.', [
    'status',
  ]);
  const total = addCounter(registry, 'quire_batches_total', 'Batches that ended.', ['status']);
  const lines = addCounter(registry, 'quire_batch_lines_total', 'Lines of batches that got their result.', ['outcome']);
  const inFlight = addGauge(registry, 'quire_batch_lines_in_flight', 'Lines of batches that are attempted now.');
  const retries = addCounter(
    registry,
    'quire_batch_line_retries_total',
    'Attempts of batch lines that failed and are repeated.',
  );
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
});

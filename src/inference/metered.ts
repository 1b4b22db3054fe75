import type { Deps } from '../deps.ts';
import type { ServedModel } from '../engines/registry.ts';
import type { Call } from '../lib/caller.ts';
import type { UsageOutcome } from '../lib/usage-record.ts';
import { isAbort } from './generate.ts';
import { recordUsage } from './record-usage.ts';
import { soundUsage } from './sound-usage.ts';
import { type Task, taskMetrics } from './task-metrics.ts';

/** What a metered call needs of the dependencies. */
export type MeteredDeps = Pick<Deps, 'recordUsage' | 'metrics' | 'now'>;

/** What is asked of a model whose answer is no text. */
export interface MeteredWork {
  task: Task;
  model: ServedModel;
  /** Texts that the call gives. */
  texts: number;
}

/**
 * Runs one call of a model and records its usage exactly once, however it ends; the record is durable when this settles.
 * The tokens that were read count as prompt tokens: those that the engine tells, as numbers that can be billed.
 */
export async function metered<T extends { tokens: number }>(
  deps: MeteredDeps,
  call: Call,
  { task, model, texts }: MeteredWork,
  run: () => Promise<T>,
): Promise<T> {
  const metrics = taskMetrics(deps.metrics, task);
  let used = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };
  let outcome: UsageOutcome = 'failed';
  metrics.started();
  try {
    const result = await run();
    used = soundUsage({ ...used, promptTokens: result.tokens });
    outcome = 'completed';
    return { ...result, tokens: used.promptTokens };
  } catch (error) {
    if (isAbort(error)) outcome = 'cancelled';
    throw error;
  } finally {
    metrics.ended(model.id, outcome, texts, used.promptTokens);
    await recordUsage(deps, call, { model: model.id, ...used, outcome });
  }
}

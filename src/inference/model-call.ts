import { costMicros } from '../billing/price.ts';
import type { Deps } from '../deps.ts';
import type { FinishReason, GenerationUsage } from '../engines/engine.ts';
import type { Pricing } from '../engines/registry.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import type { Reservation } from '../lib/reservation.ts';
import type { UsageOutcome, UsageRecord } from '../lib/usage-record.ts';
import type { CallKind } from './call-kinds.ts';
import { clampUsage } from './clamp-usage.ts';
import { type CallMetrics, callMetrics } from './metrics.ts';

/** Dependencies of a metered call. */
export type MeteringDeps = Pick<Deps, 'reserve' | 'recordUsage' | 'metrics' | 'now'>;

/** Usage of a call that has processed nothing. */
export const NO_USAGE: GenerationUsage = { promptTokens: 0, cachedTokens: 0, completionTokens: 0 };

/** What is called, and for whom. */
export interface CallSubject {
  kind: CallKind;
  model: { id: string; pricing: Pricing };
  call: Call;
}

/** How a call begins. */
export interface BegunCall<Engine> {
  engine: Engine;
  /** Texts in the request, for metrics. */
  inputs: number;
  reservation: Reservation | null;
  /** The output limit per choice that the credits cover; null when they cover all that was asked for. */
  outputTokens: number | null;
}

/** One call of a model: counted as in flight from its construction until `settle`. */
export class ModelCall<Engine> {
  readonly engine: Engine;
  /** The output limit per choice that the credits cover; null: as requested. */
  readonly outputTokens: number | null;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Time in the queue of the engine, in milliseconds, once it is known. */
  queueMs = 0;
  /** Time from the start to the first token of a stream, in milliseconds; null before it. */
  firstTokenMs: number | null = null;
  /** Whether a prefix of the prompt was cached; null before the prompt of a generation is processed. */
  isCacheHit: boolean | null = null;
  readonly #deps: MeteringDeps;
  readonly #subject: CallSubject;
  readonly #inputs: number;
  readonly #reservation: Reservation | null;
  readonly #metrics: CallMetrics;
  #isSettled = false;

  constructor(deps: MeteringDeps, subject: CallSubject, begun: BegunCall<Engine>) {
    this.engine = begun.engine;
    this.outputTokens = begun.outputTokens;
    this.startedAt = deps.now();
    this.#deps = deps;
    this.#subject = subject;
    this.#inputs = begun.inputs;
    this.#reservation = begun.reservation;
    this.#metrics = callMetrics(deps.metrics, subject.kind);
    this.#metrics.started();
  }

  /** Notes the time of the first token of a stream. Later calls change nothing. */
  markFirstToken(): void {
    this.firstTokenMs ??= Math.max(0, this.#deps.now() - this.startedAt);
  }

  /**
   * Ends the call, records its usage and pays its cost from the reservation. Resolves when the record is durable.
   * Throws an Error when called twice, because the second record would be billed, too.
   */
  async settle(usage: GenerationUsage, outcome: UsageOutcome, finishReason: FinishReason | null = null): Promise<void> {
    if (this.#isSettled) throw new Error('a model call was settled twice');
    this.#isSettled = true;
    const { kind, model, call } = this.#subject;
    const { caller, requestId, endpoint, isBatchLine = false } = call;
    const now = this.#deps.now();
    const durationMs = Math.max(0, now - this.startedAt);
    const queueMs = Math.min(Math.round(this.queueMs), durationMs);
    this.#metrics.ended({ model: model.id, outcome, usage, inputs: this.#inputs, queueMs });
    call.countTokens?.(usage.promptTokens + usage.completionTokens);
    const { promptTokens, cachedTokens, completionTokens, reasoningTokens } = usage;
    const record: UsageRecord = {
      id: newId('usage'),
      organizationId: caller.organizationId,
      keyId: caller.keyId,
      requestId,
      endpoint,
      operation: kind,
      model: model.id,
      ...{ promptTokens, cachedTokens, completionTokens },
      ...(reasoningTokens !== undefined && { reasoningTokens }),
      searches: 0,
      rerankUnits: kind === 'rerank' ? this.#inputs : 0,
      costMicros: costMicros(usage, model.pricing, isBatchLine),
      durationMs,
      queueMs,
      firstTokenMs: this.firstTokenMs,
      finishReason,
      isCacheHit: this.isCacheHit,
      isBatch: isBatchLine,
      outcome,
      createdAt: new Date(now),
      ...(this.#reservation !== null && { charge: this.#reservation.charge }),
    };
    call.log?.addCall(record, this.startedAt);
    await this.#deps.recordUsage(record, this.#reservation);
  }

  /**
   * Runs a call whose result comes in one piece, and settles it however it ends. The tokens that the engine has read
   * are recorded as prompt tokens.
   */
  async run<Result extends { tokens: number; queueMs?: number }>(
    compute: (engine: Engine) => Promise<Result>,
  ): Promise<Result> {
    let usage = NO_USAGE;
    let outcome: UsageOutcome = 'failed';
    try {
      const result = await compute(this.engine);
      usage = clampUsage({ ...NO_USAGE, promptTokens: result.tokens });
      this.queueMs = result.queueMs ?? 0;
      outcome = 'completed';
      return { ...result, tokens: usage.promptTokens };
    } catch (error) {
      if (isAbort(error)) outcome = 'cancelled';
      throw error;
    } finally {
      await this.settle(usage, outcome);
    }
  }
}

/** Whether an engine ended because its signal was aborted: it then throws the signal's reason. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && (error.name === 'ClientDisconnected' || error.name === 'AbortError');
}

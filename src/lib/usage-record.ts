import type { Charge, Reservation } from './reservation.ts';

/** Outcome of a model call. Produced tokens are billed in every case. */
export type UsageOutcome = 'completed' | 'cancelled' | 'failed';

/** Usage of one model call. Token counts are integers; `cachedTokens` is included in `promptTokens`. */
export interface UsageRecord {
  /** `use_...`; the primary key, so that retries insert once. */
  id: string;
  organizationId: string;
  keyId: string;
  requestId: string;
  /** The route, such as `/v1/chat/completions`. */
  endpoint: string;
  /** What the model did; not stored. A grounded chat embeds its query, too. */
  operation?: 'chat' | 'completion' | 'embedding' | 'rerank' | 'moderation';
  /** Model id as requested. */
  model: string;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  /** Completion tokens that were reasoning; not stored. */
  reasoningTokens?: number;
  /** Searches of knowledge bases that the call made. */
  searches: number;
  /** Documents that a reranker scored. */
  rerankUnits: number;
  /** Price of the call; 1,000,000 micros are one credit. */
  costMicros: number;
  /** Time from the admission of the call to its end, in milliseconds. */
  durationMs: number;
  /** Part of `durationMs` that the call waited in the queue of its engine. */
  queueMs: number;
  /** Milliseconds from admission to the first token of a streamed generation; null for other calls, and without one. */
  firstTokenMs: number | null;
  /** Why the first choice of a generation ended; null for other calls, and for generations that did not end. */
  finishReason: string | null;
  /** Whether a prefix of the prompt was read from the prefix cache. Null: no prompt of a generation was processed. */
  isCacheHit: boolean | null;
  /** Whether the call is a line of a batch. */
  isBatch: boolean;
  outcome: UsageOutcome;
  createdAt: Date;
  /** What the cost is deducted from. Absent: neither balance nor budget limits the key. */
  charge?: Charge;
}

/** Usage with the reservation that pays for it, if any. */
export interface ReservedUsage {
  record: UsageRecord;
  reservation: Reservation | null;
}

/** Gives back the credits of calls that are not billed. */
export function releaseCredits(usage: readonly ReservedUsage[]): void {
  for (const { reservation } of usage) reservation?.settle(0);
}

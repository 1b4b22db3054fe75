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
  /** Model id as requested. */
  model: string;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  outcome: UsageOutcome;
  createdAt: Date;
}

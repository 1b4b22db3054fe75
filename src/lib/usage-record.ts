/** How a call of a model ended. What was produced is billed in every case. */
export type UsageOutcome = 'completed' | 'cancelled' | 'failed';

/** What one call of a model used. Token counts are whole numbers; `cachedTokens` is a part of `promptTokens`. */
export interface UsageRecord {
  /** `use_...`: written once, however often it is sent. */
  id: string;
  organizationId: string;
  keyId: string;
  requestId: string;
  /** The route, such as `/v1/chat/completions`. */
  endpoint: string;
  /** The model id that the caller named. */
  model: string;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  outcome: UsageOutcome;
  createdAt: Date;
}

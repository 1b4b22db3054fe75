/**
 * What servers of the OpenAI kind send, as far as it is looked at. Nothing in it can be relied on: every field is
 * unknown until it has been looked at.
 */
export interface UpstreamChunk {
  choices?: unknown;
  usage?: unknown;
  /** llama-server's own counts. */
  timings?: unknown;
  error?: unknown;
}

/** A choice of a chunk (`delta`, `text`) or of a whole answer (`message`, `text`). */
export interface UpstreamChoice {
  index?: unknown;
  delta?: UpstreamDelta | null;
  message?: UpstreamDelta | null;
  text?: unknown;
  logprobs?: unknown;
  finish_reason?: unknown;
}

/** What a choice says: a delta, or a message, which then is the one delta of it all. */
export interface UpstreamDelta {
  content?: unknown;
  upstreamError?: unknown;
  reasoning_content?: unknown;
  reasoning?: unknown;
  tool_calls?: unknown;
  /** The form before tools. */
  function_call?: unknown;
}

/** Whether a value is an object with fields. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

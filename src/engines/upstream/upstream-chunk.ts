/** OpenAI-style response. Every field is unknown until it is validated. */
export interface UpstreamChunk {
  choices?: unknown;
  usage?: unknown;
  /** Token counts of llama-server. */
  timings?: unknown;
  error?: unknown;
  /** Set by the reader of a dialect whose streams have another end than `[DONE]`. */
  isLast?: boolean;
}

/** A choice of a chunk (`delta`, `text`) or of a whole response (`message`, `text`). */
export interface UpstreamChoice {
  index?: unknown;
  delta?: UpstreamDelta | null;
  message?: UpstreamDelta | null;
  text?: unknown;
  logprobs?: unknown;
  finish_reason?: unknown;
  /** The stop sequence that ended the choice, as vLLM and SGLang name it; a token id for a stop token. */
  stop_reason?: unknown;
  matched_stop?: unknown;
}

/** A delta, or a message, which is treated as the only delta. */
export interface UpstreamDelta {
  content?: unknown;
  refusal?: unknown;
  reasoning_content?: unknown;
  reasoning?: unknown;
  tool_calls?: unknown;
  /** The format before `tool_calls`. */
  function_call?: unknown;
}

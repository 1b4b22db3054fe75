/** An upstream's error about the context length. */
export interface ContextOverflow {
  /** Tokens of the prompt, if reported. */
  promptTokens: number | null;
  /** Context length in tokens, if reported. */
  contextTokens: number | null;
}

/** Matches messages about the context length of OpenAI, Anthropic, vLLM, SGLang, TGI, llama-server and others. */
const ABOUT_CONTEXT =
  /context (?:length|window|size|limit)|maximum (?:model|sequence|input|prompt) length|`inputs` (?:tokens|must have)|prompt is too long|too large for model with \d+ maximum/i;

const CONTEXT_TOKENS = [
  /context (?:length|window|size)[^.\d]{0,20}?(\d+)/i,
  /(\d+) maximum context length/i,
  /must have (?:less|fewer) than (\d+) tokens/i,
  /must be <= (\d+)/i,
  /tokens > (\d+) maximum/i,
  /context limit: \d+ \+ \d+ > (\d+)/i,
];

const PROMPT_TOKENS = [
  /\((\d+) in the (?:messages|prompt)/i,
  /(\d+) (?:input tokens|tokens from the input|tokens in the (?:messages|prompt))/i,
  /your (?:prompt|messages) (?:contains?|resulted in) (?:at least )?(\d+)/i,
  /input \((\d+) tokens\)/i,
  /request \((\d+) tokens\)/i,
  /prompt contains (\d+) tokens/i,
  /given: (\d+)/i,
  /too long: (\d+) tokens/i,
  /context limit: (\d+) \+/i,
];

/** Parses an upstream error about the context length; null for other errors. */
export function parseContextOverflow(error: Record<string, unknown>, upstreamMessage: string): ContextOverflow | null {
  const reported = error['code'] === 'context_length_exceeded' || error['type'] === 'exceed_context_size_error';
  if (!reported && !ABOUT_CONTEXT.test(upstreamMessage)) return null;
  return {
    promptTokens: count(error['n_prompt_tokens']) ?? firstMatch(PROMPT_TOKENS, upstreamMessage),
    contextTokens: count(error['n_ctx']) ?? firstMatch(CONTEXT_TOKENS, upstreamMessage),
  };
}

/** Returns the tokens left for the completion when the prompt fits; null when it does not or is unknown. */
export function remainingCompletionTokens({ promptTokens, contextTokens }: ContextOverflow): number | null {
  if (promptTokens === null || contextTokens === null) return null;
  return promptTokens < contextTokens ? contextTokens - promptTokens : null;
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : null;
}

function firstMatch(patterns: readonly RegExp[], upstreamMessage: string): number | null {
  for (const pattern of patterns) {
    const match = pattern.exec(upstreamMessage)?.[1];
    if (match !== undefined) return Number(match);
  }
  return null;
}

/** What an upstream says about a request that does not fit into its model's context. */
export interface ContextOverflow {
  /** Tokens of the prompt, where it says so. */
  promptTokens: number | null;
  /** Tokens of the context, where it says so. */
  contextTokens: number | null;
}

/** That a sentence is about the context at all, in the words of OpenAI, vLLM, SGLang, TGI, llama-server and others. */
const ABOUT_CONTEXT =
  /context (?:length|window|size)|maximum (?:model|sequence|input|prompt) length|`inputs` (?:tokens|must have)|prompt is too long|too large for model with \d+ maximum/i;

const CONTEXT_TOKENS = [
  /context (?:length|window|size)[^.\d]{0,20}?(\d+)/i,
  /(\d+) maximum context length/i,
  /must have (?:less|fewer) than (\d+) tokens/i,
  /must be <= (\d+)/i,
  /tokens > (\d+) maximum/i,
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
];

/** The overflow that an upstream's refusal speaks of; null when it is about something else. */
export function parseContextOverflow(error: Record<string, unknown>, upstreamMessage: string): ContextOverflow | null {
  const reported = error['code'] === 'context_length_exceeded' || error['type'] === 'exceed_context_size_error';
  if (!reported && !ABOUT_CONTEXT.test(upstreamMessage)) return null;
  return {
    promptTokens: count(error['n_prompt_tokens']) ?? firstMatch(PROMPT_TOKENS, upstreamMessage),
    contextTokens: count(error['n_ctx']) ?? firstMatch(CONTEXT_TOKENS, upstreamMessage),
  };
}

/** Tokens that the context leaves for the answer when only the prompt fits; null where that is not so or not known. */
export function remainingCompletionTokens({ promptTokens, contextTokens }: ContextOverflow): number | null {
  if (promptTokens === null || contextTokens === null) return null;
  return promptTokens < contextTokens ? contextTokens - promptTokens : null;
}

function count(value: unknown): number | null {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : null;
}

function firstMatch(patterns: readonly RegExp[], upstreamMessage: string): number | null {
  for (const pattern of patterns) {
    const found = pattern.exec(upstreamMessage)?.[1];
    if (found !== undefined) return Number(found);
  }
  return null;
}

import type { PromptToken, TokenLogprob } from '../engines/engine.ts';

/**
 * Log probabilities in the shape of text completions. `offset` is how many characters of `text` come before them; it is
 * negative where the first token has a space before the text that the model's tokenizer put there.
 */
export function legacyLogprobs(tokens: readonly PromptToken[], offset: number) {
  let at = offset;
  return {
    tokens: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map(({ logprob, top }) =>
      logprob === null ? null : Object.fromEntries(top.map((other) => [other.token, other.logprob])),
    ),
    text_offset: tokens.map(({ token }) => {
      const before = Math.max(0, at);
      at += token.length;
      return before;
    }),
  };
}

/** Mean log probability of a token: what `best_of` chooses by. No token at all is the least likely answer. */
export function meanLogprob(tokens: readonly TokenLogprob[] | null): number {
  if (tokens === null || tokens.length === 0) return Number.NEGATIVE_INFINITY;
  return tokens.reduce((sum, { logprob }) => sum + logprob, 0) / tokens.length;
}

/** Log probabilities of a prompt that is echoed as `text`, whose tokens may have a space more at their beginning. */
export function promptLogprobs(tokens: readonly PromptToken[], text: string) {
  const spelled = tokens.reduce((sum, { token }) => sum + token.length, 0);
  return legacyLogprobs(tokens, Math.min(0, text.length - spelled));
}

/** The log probabilities of a text and of the one that follows it. */
export function joinLogprobs(
  first: ReturnType<typeof legacyLogprobs>,
  second: ReturnType<typeof legacyLogprobs>,
): ReturnType<typeof legacyLogprobs> {
  return {
    tokens: [...first.tokens, ...second.tokens],
    token_logprobs: [...first.token_logprobs, ...second.token_logprobs],
    top_logprobs: [...first.top_logprobs, ...second.top_logprobs],
    text_offset: [...first.text_offset, ...second.text_offset],
  };
}

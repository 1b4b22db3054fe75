import type { TokenLogprob } from '../engines/engine.ts';

/** Log probabilities in the shape of text completions. `offset` is how many characters of `text` come before them. */
export function legacyLogprobs(tokens: readonly TokenLogprob[], offset: number) {
  let at = offset;
  return {
    tokens: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map(({ top }) => Object.fromEntries(top.map(({ token, logprob }) => [token, logprob]))),
    text_offset: tokens.map(({ token }) => {
      const before = at;
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

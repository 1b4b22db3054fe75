import type { PromptToken, TokenLogprob } from '../engines/engine.ts';

/**
 * Converts log probabilities to the format of text completions. `offset`: number of characters before the first token;
 * negative when the tokenizer added a leading space to the text. As in OpenAI's API, the alternatives always include
 * the token itself.
 */
export function legacyLogprobs(tokens: readonly PromptToken[], offset: number) {
  return {
    tokens: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map(({ token, logprob, top }) =>
      logprob === null
        ? null
        : { ...Object.fromEntries(top.map((other) => [other.token, other.logprob])), [token]: logprob },
    ),
    text_offset: characterStarts(tokens)
      .slice(0, -1)
      .map((start) => Math.max(0, offset + start)),
  };
}

/** Characters before each token, and of all tokens at the end. A token inside a character starts with it. */
function characterStarts(tokens: readonly PromptToken[]): number[] {
  const decoder = new TextDecoder();
  let characters = 0;
  const starts = tokens.map(({ token, bytes }) => {
    const start = characters;
    characters += bytes === null ? token.length : decoder.decode(Uint8Array.from(bytes), { stream: true }).length;
    return start;
  });
  return [...starts, characters];
}

/** Mean log probability per token, the criterion of `best_of`. A choice without tokens ranks last. */
export function meanLogprob(tokens: readonly TokenLogprob[] | null): number {
  if (tokens === null || tokens.length === 0) return Number.NEGATIVE_INFINITY;
  return tokens.reduce((sum, { logprob }) => sum + logprob, 0) / tokens.length;
}

/** Converts log probabilities of an echoed prompt, whose tokens may start with an added space. */
export function promptLogprobs(tokens: readonly PromptToken[], text: string) {
  const tokenCharacters = characterStarts(tokens).at(-1) ?? 0;
  return legacyLogprobs(tokens, Math.min(0, text.length - tokenCharacters));
}

/** Concatenates the log probabilities of two adjacent texts. */
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

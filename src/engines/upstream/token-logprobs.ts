import { isRecord } from '../../lib/json.ts';
import type { TokenLogprob } from '../engine.ts';

/** Stands for an infinite log probability, which JSON cannot express: servers send null or -9999. */
const MIN_LOGPROB = -9999;

/**
 * Parses the `logprobs` of a choice in either format: `content` of chats, or the four parallel lists of text
 * completions. `most`: number of alternatives requested. Empty when there are none.
 */
export function tokenLogprobs(logprobs: unknown, most: number): TokenLogprob[] {
  if (!isRecord(logprobs)) return [];
  if (Array.isArray(logprobs['content'])) return logprobs['content'].flatMap((entry) => parseChatEntry(entry, most));
  return Array.isArray(logprobs['tokens']) ? parseLegacyEntries(logprobs['tokens'], logprobs, most) : [];
}

function parseChatEntry(entry: unknown, most: number): TokenLogprob[] {
  if (!isRecord(entry) || typeof entry['token'] !== 'string') return [];
  const top = Array.isArray(entry['top_logprobs']) ? entry['top_logprobs'] : [];
  const alternatives = top.flatMap((other: unknown) =>
    isRecord(other) && typeof other['token'] === 'string'
      ? [{ token: other['token'], logprob: value(other['logprob']), bytes: readBytes(other['bytes']) }]
      : [],
  );
  const { token } = entry;
  return [
    {
      token,
      logprob: value(entry['logprob']),
      bytes: readBytes(entry['bytes']),
      top: topAlternatives(alternatives, most),
    },
  ];
}

function parseLegacyEntries(tokens: unknown[], logprobs: Record<string, unknown>, most: number): TokenLogprob[] {
  const values = Array.isArray(logprobs['token_logprobs']) ? logprobs['token_logprobs'] : [];
  const tops = Array.isArray(logprobs['top_logprobs']) ? logprobs['top_logprobs'] : [];
  return tokens.flatMap((token, at) => {
    if (typeof token !== 'string') return [];
    const others = Object.entries(isRecord(tops[at]) ? tops[at] : {});
    const top = others.map(([other, logprob]) => ({ token: other, logprob: value(logprob), bytes: null }));
    return [{ token, logprob: value(values[at]), bytes: null, top: topAlternatives(top, most) }];
  });
}

/** vLLM adds the sampled token to the alternatives, which may then be one too many. */
function topAlternatives(top: TokenLogprob['top'], most: number): TokenLogprob['top'] {
  return top.sort((a, b) => b.logprob - a.logprob).slice(0, most);
}

function value(logprob: unknown): number {
  return typeof logprob === 'number' && Number.isFinite(logprob) ? Math.min(logprob, 0) : MIN_LOGPROB;
}

function readBytes(bytes: unknown): number[] | null {
  return Array.isArray(bytes) && bytes.every((byte) => Number.isInteger(byte)) ? bytes : null;
}

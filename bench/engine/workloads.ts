import { randomLetters } from '../harness/random-numbers.ts';
import { type Ask, type EngineAnswer, type EngineContender, timeToFirstToken } from './contender.ts';

/** Tokens at the start of every text of the random models. */
const BEGINNING_TOKENS = 1;
const DECODE_PROMPT_TOKENS = 64;
const PREFILL_TOKENS = 2_048;
const MIXED_STREAMS = 4;
const MIXED_PROMPT_TOKENS = 2_000;
const MIXED_ANSWER_TOKENS = 8;
const PAUSE_BETWEEN_ARRIVALS_MS = 100;
/** A gap longer than this means that a stream had ended and the prompts arrived during fewer streams. */
const LONGEST_GAP_MS = 5_000;

/** Tokens per second of concurrent requests. */
export interface DecodeFigure {
  /** All completion tokens by the time from the first request to the last completion, prefill included. */
  wholePerSecond: number;
  /** Tokens by time while all completions run: decoding only. */
  decodePerSecond: number;
}

/** Results of 4 streams with arriving long prompts, in milliseconds. */
export interface MixedFigure {
  firstTokenMs: number[];
  gapsMs: number[];
  /** Tokens per second of the streams together while prompts arrived. */
  streamsPerSecond: number;
}

let nextSeed = 1;

/** A prompt of exactly that many tokens, without a common prefix with others. */
export function freshPrompt(tokens: number): string {
  nextSeed += 1;
  return randomLetters(nextSeed * 7919, tokens - BEGINNING_TOKENS);
}

/** Concurrent requests, each to `maxTokens` tokens. */
export async function measureDecode(
  contender: EngineContender,
  requests: number,
  maxTokens: number,
): Promise<DecodeFigure> {
  const asks: Ask[] = Array.from({ length: requests }, () => ({
    prompt: freshPrompt(DECODE_PROMPT_TOKENS),
    maxTokens,
  }));
  const answers = await Promise.all(asks.map((ask) => contender.ask(ask)));
  for (const answer of answers) requireExact(contender, answer, { prompt: DECODE_PROMPT_TOKENS, answer: maxTokens });
  const began = Math.min(...answers.map((answer) => answer.askedMs));
  const ended = Math.max(...answers.map((answer) => answer.endedMs));
  const from = Math.max(...answers.map((answer) => answer.arrivals[0]?.atMs ?? Number.NaN));
  const to = Math.min(...answers.map((answer) => answer.arrivals.at(-1)?.atMs ?? Number.NaN));
  const between = answers.flatMap((answer) => answer.arrivals).filter(({ atMs }) => atMs > from && atMs <= to);
  return {
    wholePerSecond: (requests * maxTokens) / ((ended - began) / 1_000),
    decodePerSecond: between.reduce((sum, { tokens }) => sum + tokens, 0) / ((to - from) / 1_000),
  };
}

/** Prompt tokens per second of one prompt of 2,048 tokens, by the time to its only token. */
export async function measurePrefill(contender: EngineContender): Promise<number> {
  const answer = await contender.ask({ prompt: freshPrompt(PREFILL_TOKENS), maxTokens: 1 });
  requireExact(contender, answer, { prompt: PREFILL_TOKENS, answer: 1 });
  return PREFILL_TOKENS / (timeToFirstToken(answer) / 1_000);
}

/** Four continuous streams, and long prompts that arrive one at a time. */
export async function measureMixed(
  contender: EngineContender,
  arrivals: number,
  streamTokens: number,
): Promise<MixedFigure> {
  const leave = new AbortController();
  const running = Promise.all(
    Array.from({ length: MIXED_STREAMS }, () =>
      contender.ask({ prompt: freshPrompt(DECODE_PROMPT_TOKENS), maxTokens: streamTokens }, leave.signal),
    ),
  );
  // When this request is complete, the streams are running.
  await contender.ask({ prompt: freshPrompt(DECODE_PROMPT_TOKENS), maxTokens: MIXED_ANSWER_TOKENS });
  const fromMs = performance.now();
  const firstTokenMs: number[] = [];
  for (let i = 0; i < arrivals; i++) {
    const ask = { prompt: freshPrompt(MIXED_PROMPT_TOKENS), maxTokens: MIXED_ANSWER_TOKENS };
    firstTokenMs.push(timeToFirstToken(await contender.ask(ask)));
    await new Promise((resolve) => setTimeout(resolve, PAUSE_BETWEEN_ARRIVALS_MS));
  }
  const toMs = performance.now();
  leave.abort();
  const streams = (await running).map((answer) => answer.arrivals);
  if (streams.some((stream) => (stream.at(-1)?.atMs ?? 0) < toMs - LONGEST_GAP_MS)) {
    throw new Error(
      `${contender.name}: a stream ended before the last prompt arrived; it needs more than ${streamTokens} tokens`,
    );
  }
  const within = streams.map((stream) => stream.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs));
  const gapsMs = within.flatMap((stream) => stream.slice(1).map(({ atMs }, i) => atMs - (stream[i]?.atMs ?? atMs)));
  const tokens = within.flat().reduce((sum, arrival) => sum + arrival.tokens, 0);
  return { firstTokenMs, gapsMs, streamsPerSecond: tokens / ((toMs - fromMs) / 1_000) };
}

/** An engine that stops early, or counts differently, would get wrong figures. */
function requireExact(
  contender: EngineContender,
  seen: EngineAnswer,
  tokens: { prompt: number; answer: number },
): void {
  const { promptTokens, completionTokens } = seen;
  if (promptTokens === tokens.prompt && completionTokens === tokens.answer) return;
  throw new Error(
    `${contender.name} computed ${promptTokens}+${completionTokens} tokens and not ${tokens.prompt}+${tokens.answer}`,
  );
}

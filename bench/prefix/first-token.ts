import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EngineAnswer, timeToFirstToken } from '../engine/contender.ts';
import { type PortContender, startPort } from '../engine/port-contender.ts';
import { freshPrompt } from '../engine/workloads.ts';

/** Tokens of the question after the cached prefix, unique per request. */
const QUESTION_TOKENS = 32;
const ANSWER_TOKENS = 4;
/** Length of the stream whose prompt the next request shares: longer than the time to that request's first token. */
const STREAM_TOKENS = 512;
const STATES_BYTES = 4e9;
const POLL_MS = 20;

/**
 * Location of the cached prefix: none; the whole prompt in an idle slot; a prefix in an idle slot; in a running slot;
 * in a file. All but the second are followed by a new question.
 */
export const HITS = [
  'cold',
  'the same prompt again',
  'same sequence',
  'branch of a running one',
  'from disk after a restart',
] as const;

/** Time to the first token of a request, and its number of cached tokens. */
export interface FirstToken {
  hit: (typeof HITS)[number];
  round: number;
  prefixTokens: number;
  milliseconds: number;
  cachedTokens: number;
}

/** Measures each location for each prefix length, with separate prefixes in every round. */
export async function measureFirstTokens(
  setup: { file: string; threads: number; lengths: readonly number[]; rounds: number },
  progress: (line: string) => void,
): Promise<FirstToken[]> {
  const folder = await mkdtemp(join(tmpdir(), 'quire-bench-states-'));
  const found: FirstToken[] = [];
  try {
    for (let round = 1; round <= setup.rounds; round++) {
      const prefixes = setup.lengths.map((length) => freshPrompt(length));
      const note = (hit: FirstToken['hit'], prefixTokens: number, answer: EngineAnswer): void => {
        const { cachedTokens } = answer;
        found.push({ hit, round, prefixTokens, milliseconds: timeToFirstToken(answer), cachedTokens });
      };
      await withEngine(setup, folder, async (engine) => {
        for (const [i, prefix] of prefixes.entries()) {
          const length = setup.lengths[i] ?? 0;
          progress(`first token, round ${round} of ${setup.rounds}: ${length} tokens`);
          const first = question(prefix);
          note('cold', length, await engine.ask(first));
          note('the same prompt again', length, await engine.ask(first));
          note('same sequence', length, await engine.ask(question(prefix)));
          note('branch of a running one', length, await besideStream(engine, prefix));
        }
      });
      await withEngine(setup, folder, async (engine) => {
        for (const [i, prefix] of prefixes.entries()) {
          note('from disk after a restart', setup.lengths[i] ?? 0, await engine.ask(question(prefix)));
        }
      });
    }
    return found;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function withEngine(
  { file, threads, lengths }: { file: string; threads: number; lengths: readonly number[] },
  folder: string,
  use: (engine: PortContender) => Promise<void>,
): Promise<void> {
  const contextTokens = Math.max(...lengths) + QUESTION_TOKENS + STREAM_TOKENS + 1;
  const diskCache = { folder, bytes: STATES_BYTES };
  const engine = await startPort('Quire', { file, contextTokens, slots: 2, threads, diskCache });
  try {
    // Warm-up, because the first steps of a process are slower; shares no prefix with the other prompts.
    await engine.ask(question(freshPrompt(QUESTION_TOKENS)));
    await use(engine);
  } finally {
    await engine.stop();
  }
}

function question(prefix: string): { prompt: string; maxTokens: number } {
  return { prompt: prefix + freshPrompt(QUESTION_TOKENS), maxTokens: ANSWER_TOKENS };
}

async function besideStream(engine: PortContender, prefix: string): Promise<EngineAnswer> {
  const leave = new AbortController();
  const stream = engine.ask({ ...question(prefix), maxTokens: STREAM_TOKENS }, leave.signal);
  try {
    // The first request runs and its prompt is computed before the second one is sent.
    while ((await engine.engine.load(AbortSignal.timeout(60_000))).running === 0) await pause();
    await pause();
    return await engine.ask(question(prefix));
  } finally {
    leave.abort();
    await stream;
  }
}

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, POLL_MS));

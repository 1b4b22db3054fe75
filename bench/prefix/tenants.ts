import { type EngineAnswer, timeToFirstToken } from '../engine/contender.ts';
import { askPort, greedy, startPort } from '../engine/port-contender.ts';
import { freshPrompt } from '../engine/workloads.ts';

const PREFIX_TOKENS = 1_000;
const ANSWER_TOKENS = 4;

/** Compares prompts that another organization has sent before with new prompts. */
export interface TenantTimes {
  /** Milliseconds to the first token. */
  askedByAnother: number[];
  askedByNobody: number[];
  /** Tokens from the cache in all these requests together: 0, unless something is shared. */
  cachedTokens: number;
  /** p-value of a permutation test of the means: near 0 means that the two are distinguishable. */
  probability: number;
}

/** One organization sends prompts; another one alternates between the same and new prompts. */
export async function measureTenants(setup: { file: string; threads: number; rounds: number }): Promise<TenantTimes> {
  const contextTokens = PREFIX_TOKENS + ANSWER_TOKENS + 60;
  const contender = await startPort('Quire', { ...setup, contextTokens, slots: 4 });
  const ask = (scope: string, prompt: string): Promise<EngineAnswer> =>
    askPort(contender.engine, greedy({ prompt, maxTokens: ANSWER_TOKENS }, { scope }), new AbortController().signal);
  const times: TenantTimes = { askedByAnother: [], askedByNobody: [], cachedTokens: 0, probability: 1 };
  try {
    for (let round = 0; round < setup.rounds; round++) {
      const [known, unknown] = [freshPrompt(PREFIX_TOKENS), freshPrompt(PREFIX_TOKENS)];
      await ask('org_a', known);
      const order = round % 2 === 0 ? [known, unknown] : [unknown, known];
      for (const prompt of order) {
        const answer = await ask('org_b', prompt);
        (prompt === known ? times.askedByAnother : times.askedByNobody).push(timeToFirstToken(answer));
        times.cachedTokens += answer.cachedTokens;
      }
    }
    return { ...times, probability: chanceOfDifference(times.askedByAnother, times.askedByNobody) };
  } finally {
    await contender.stop();
  }
}

const SHUFFLES = 10_000;

/** A permutation test of the difference of means, two-sided. The source: Fisher, The Design of Experiments, 1935. */
function chanceOfDifference(a: readonly number[], b: readonly number[]): number {
  const all = [...a, ...b];
  const difference = (values: readonly number[]): number =>
    Math.abs(mean(values.slice(0, a.length)) - mean(values.slice(a.length)));
  const seen = difference(all);
  let asLarge = 0;
  for (let round = 0; round < SHUFFLES; round++) {
    for (let i = all.length - 1; i > 0; i--) {
      const j = Math.floor(Math.random() * (i + 1));
      [all[i], all[j]] = [all[j] ?? 0, all[i] ?? 0];
    }
    if (difference(all) >= seen) asLarge += 1;
  }
  return asLarge / SHUFFLES;
}

const mean = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0) / values.length;

import { loadavg } from 'node:os';
import type { EngineContender } from './contender.ts';
import { type DecodeFigure, type MixedFigure, measureDecode, measureMixed, measurePrefill } from './workloads.ts';

/** Amounts of the measurements. */
export interface EnginePlan {
  rounds: number;
  /** Concurrent requests. */
  concurrency: number[];
  answerTokens: number;
  /** Long prompts that arrive during the streams, per round; 0 skips that part. */
  arrivals: number;
  /** Streams must be longer than the time to the last of these completions. */
  streamTokens: number;
}

/** Result of one contender in one round. */
export interface RoundFigures {
  contender: string;
  round: number;
  /** Load average of the machine over the previous minute. */
  loadAverage: number;
  decode: (DecodeFigure & { requests: number })[];
  prefillPerSecond: number;
  mixed: MixedFigure;
}

/** Runs the plan: each round runs every workload on all contenders, in rotating order. */
export async function measureEngines(
  contenders: readonly EngineContender[],
  plan: EnginePlan,
  progress: (line: string) => void,
): Promise<RoundFigures[]> {
  for (const contender of contenders) await measureDecode(contender, 1, plan.answerTokens);
  const rounds: RoundFigures[] = [];
  for (let round = 1; round <= plan.rounds; round++) {
    const figures = contenders.map(({ name }) => emptyFigures(name, round));
    const order = contenders.map((_, at) => (at + round) % contenders.length);
    const inTurn = async (what: string, run: (contender: EngineContender, into: RoundFigures) => Promise<void>) => {
      progress(`round ${round} of ${plan.rounds}: ${what}`);
      for (const at of order) {
        const [contender, into] = [contenders[at], figures[at]];
        if (contender !== undefined && into !== undefined) await run(contender, into);
      }
    };
    for (const requests of plan.concurrency) {
      await inTurn(`${requests} at once`, async (contender, into) => {
        into.decode.push({ requests, ...(await measureDecode(contender, requests, plan.answerTokens)) });
      });
    }
    await inTurn('a long prompt', async (contender, into) => {
      into.prefillPerSecond = await measurePrefill(contender);
    });
    if (plan.arrivals > 0)
      await inTurn('long prompts beside streams', async (contender, into) => {
        into.mixed = await measureMixed(contender, plan.arrivals, plan.streamTokens);
      });
    rounds.push(...figures);
  }
  return rounds;
}

function emptyFigures(contender: string, round: number): RoundFigures {
  return {
    contender,
    round,
    loadAverage: loadavg()[0] ?? 0,
    decode: [],
    prefillPerSecond: Number.NaN,
    mixed: { firstTokenMs: [], gapsMs: [], streamsPerSecond: Number.NaN },
  };
}

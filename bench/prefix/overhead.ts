import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PortContender, startPort } from '../engine/port-contender.ts';
import { freshPrompt } from '../engine/workloads.ts';
import { processUsage } from '../harness/process-usage.ts';

const SEQUENCES = 4;
const PROMPT_TOKENS = 256;
const ANSWER_TOKENS = 32;
const REQUESTS = 8;
const CONTEXT_TOKENS = 1_024;
/** The first token of every prompt, and letters that are equal by chance. */
const CHANCE_TOKENS = 8;
const STATES_BYTES = 4e9;

/** One window of load with prompts that share no prefix. */
export interface OverheadWindow {
  tokensPerSecond: number;
  /** CPU milliseconds of the model's process per request; undefined on systems without `/proc`. */
  cpuMs: number | undefined;
}

/** The engines of one round: with snapshots, without, and without again to measure noise. */
export interface OverheadRound {
  on: OverheadWindow;
  off: OverheadWindow;
  control: OverheadWindow;
}

/** Measures the cost of caching and saving prompts that are never requested again. */
export async function measureOverhead(
  setup: { file: string; threads: number; rounds: number },
  progress: (line: string) => void,
): Promise<OverheadRound[]> {
  const folder = await mkdtemp(join(tmpdir(), 'quire-bench-states-'));
  const { file, threads } = setup;
  const options = { file, threads, slots: SEQUENCES, contextTokens: CONTEXT_TOKENS };
  const engines: PortContender[] = [];
  try {
    engines.push(await startPort('on', { ...options, diskCache: { folder, bytes: STATES_BYTES } }));
    engines.push(await startPort('off', options), await startPort('control', options));
    for (const engine of engines) await measureWindow(engine);
    const rounds: OverheadRound[] = [];
    for (let round = 1; round <= setup.rounds; round++) {
      progress(`no hits, round ${round} of ${setup.rounds}`);
      const windows = new Map<string, OverheadWindow>();
      for (let i = 0; i < engines.length; i++) {
        const engine = engines[(i + round) % engines.length];
        if (engine !== undefined) windows.set(engine.name, await measureWindow(engine));
      }
      const [on, off, control] = ['on', 'off', 'control'].map((name) => windows.get(name));
      if (on && off && control) rounds.push({ on, off, control });
    }
    return rounds;
  } finally {
    for (const engine of engines) await engine.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

/** As many concurrent requests as sequences, each followed by the next. */
async function measureWindow(contender: PortContender): Promise<OverheadWindow> {
  const pids = contender.engine.hostPid === null ? [] : [contender.engine.hostPid];
  const cpuBefore = processUsage(pids)?.cpuMs;
  const began = performance.now();
  let left = REQUESTS;
  let tokens = 0;
  const client = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const answer = await contender.ask({ prompt: freshPrompt(PROMPT_TOKENS), maxTokens: ANSWER_TOKENS });
      if (answer.cachedTokens > CHANCE_TOKENS)
        throw new Error(`a prompt that is new had ${answer.cachedTokens} tokens cached`);
      tokens += answer.promptTokens + answer.completionTokens;
    }
  };
  await Promise.all(Array.from({ length: SEQUENCES }, client));
  const seconds = (performance.now() - began) / 1_000;
  const cpuAfter = processUsage(pids)?.cpuMs;
  const cpuMs = cpuBefore === undefined || cpuAfter === undefined ? undefined : (cpuAfter - cpuBefore) / REQUESTS;
  return { tokensPerSecond: tokens / seconds, cpuMs };
}

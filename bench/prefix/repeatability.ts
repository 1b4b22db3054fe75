import type { GenerationRequest } from '../../src/engines/engine.ts';
import { askPort, greedy, startPort } from '../engine/port-contender.ts';
import { freshPrompt } from '../engine/workloads.ts';

const AT_ONCE = 16;
const CONTEXT_TOKENS = 1_024;
const ANSWER_TOKENS = 64;
const LETTERS = [64, 128, 256, 512];

/** Number of greedy completions that differ from those of uncached prompts alone. */
export interface Repeatability {
  prompts: number;
  /** Uncached and alone, a second time. */
  again: Difference;
  /** Cached except for the last token. */
  cached: Difference;
  /** Concurrent with 15 others. */
  beside: Difference;
}

/** Number of different completions, and the median position of the first different character. */
export interface Difference {
  count: number;
  medianCharacters: number | null;
}

/**
 * Sends each prompt in four ways at temperature 0 and compares the texts. A separate scope keeps a request uncached.
 */
export async function measureRepeatability(
  setup: { file: string; threads: number; prompts: readonly GenerationRequest['prompt'][] },
  progress: (line: string) => void,
): Promise<Repeatability> {
  const { file, threads, prompts } = setup;
  const engine = await startPort('Quire', { file, threads, slots: AT_ONCE, contextTokens: CONTEXT_TOKENS });
  const ask = async (at: number, scope: string): Promise<string> => {
    const prompt = prompts[at] ?? { kind: 'text', text: '', suffix: null };
    const request = greedy({ prompt: '', maxTokens: ANSWER_TOKENS }, { prompt, scope });
    return (await askPort(engine.engine, request, new AbortController().signal)).text;
  };
  try {
    const alone: string[] = [];
    const again: string[] = [];
    const cached: string[] = [];
    for (let at = 0; at < prompts.length; at++) {
      if (at % 10 === 0) progress(`same text, prompt ${at} of ${prompts.length}`);
      alone.push(await ask(at, `alone-${at}`));
      cached.push(await ask(at, `alone-${at}`));
      again.push(await ask(at, `again-${at}`));
    }
    progress('same text, 16 at once');
    const beside: string[] = [];
    for (let from = 0; from < prompts.length; from += AT_ONCE) {
      // Repeats prompts to fill the last group up to 16.
      const group = Array.from({ length: AT_ONCE }, (_, i) => (from + i) % prompts.length);
      const texts = await Promise.all(group.map((at, i) => ask(at, `beside-${from}-${i}`)));
      beside.push(...texts.slice(0, prompts.length - from));
    }
    return {
      prompts: prompts.length,
      again: difference(alone, again),
      cached: difference(alone, cached),
      beside: difference(alone, beside),
    };
  } finally {
    await engine.stop();
  }
}

function difference(alone: readonly string[], others: readonly string[]): Difference {
  const places = alone.flatMap((text, i) => {
    const other = others[i] ?? '';
    return text === other ? [] : [firstDifference(text, other)];
  });
  places.sort((a, b) => a - b);
  return { count: places.length, medianCharacters: places[places.length >> 1] ?? null };
}

function firstDifference(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  return at;
}

/** Prompts for models of random weights. */
export function letterPrompts(count: number): GenerationRequest['prompt'][] {
  return Array.from({ length: count }, (_, i) => ({
    kind: 'text',
    text: freshPrompt(LETTERS[i % LETTERS.length] ?? 64),
    suffix: null,
  }));
}

const TOPICS = ['the weather', 'my order', 'a good book', 'the train', 'dinner', 'music', 'my bicycle', 'the garden'];
const MANNERS = ['Tell me about', 'What do you think of', 'Please help me with', 'Write two sentences on'];
const ENDINGS = ['today', 'for a friend', 'in simple words', 'when it rains'];

/** At most 128 different short conversations for a chat model. */
export function chatPrompts(count: number): GenerationRequest['prompt'][] {
  const texts = TOPICS.flatMap((topic) =>
    MANNERS.flatMap((manner) => ENDINGS.map((ending) => `${manner} ${topic} ${ending}.`)),
  );
  return texts.slice(0, count).map((content) => ({
    kind: 'chat',
    messages: [
      { role: 'system', content: 'You are a friendly assistant. Answer in at most three sentences.' },
      { role: 'user', content },
    ],
    tools: [],
    toolChoice: 'none',
    parallelToolCalls: true,
  }));
}

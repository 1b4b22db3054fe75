import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { sendJson, startServer, type TestServer } from '../../test/fixtures/upstream-server.ts';

/** Prefixes are cached in blocks, as vLLM does: 16 tokens of 4 characters. */
const BLOCK_CHARACTERS = 64;
const TOKEN_CHARACTERS = 4;
/** Simulated speed, fast so that the trace is short: tokens per second. */
const PREFILL_RATE = 20_000;
const DECODE_RATE = 500;

/** A prefix cache without eviction. */
export class PrefixCache {
  readonly #blocks = new Set<string>();

  /** Returns the tokens of the prompt that are cached, and caches all of it. */
  read(scope: string, prompt: string): number {
    let cached = 0;
    let key = scope;
    let isPrefix = true;
    for (let end = BLOCK_CHARACTERS; end <= prompt.length; end += BLOCK_CHARACTERS) {
      key = hash('sha1', key + prompt.slice(end - BLOCK_CHARACTERS, end), 'base64');
      isPrefix &&= this.#blocks.has(key);
      if (isPrefix) cached = end / TOKEN_CHARACTERS;
      this.#blocks.add(key);
    }
    return cached;
  }
}

/** What a replica served. */
export interface ReplicaCounts {
  requests: number;
  /** Time that requests were in flight, in seconds. */
  busySeconds: number;
  inFlight: number;
  mostInFlight: number;
  cachedTokens: number;
}

/** A model server with a simulated prefix cache. */
export interface MockReplica {
  server: TestServer;
  counts: ReplicaCounts;
}

/** Starts replicas that share nothing. `ideal` sees every prompt, as the cache of one replica would. */
export function startReplicas(count: number, ideal: (scope: string, prompt: string) => void): Promise<MockReplica[]> {
  return Promise.all(Array.from({ length: count }, () => startReplica(ideal)));
}

async function startReplica(ideal: (scope: string, prompt: string) => void): Promise<MockReplica> {
  const cache = new PrefixCache();
  const counts: ReplicaCounts = { requests: 0, busySeconds: 0, inFlight: 0, mostInFlight: 0, cachedTokens: 0 };
  const server = await startServer(async ({ body }, response) => {
    const { messages, max_tokens, user } = body as {
      messages: { content: string }[];
      max_tokens: number;
      user: string;
    };
    const prompt = messages.map(({ content }) => content).join('\n');
    ideal(user, prompt);
    const cachedTokens = cache.read(user, prompt);
    const promptTokens = Math.ceil(prompt.length / TOKEN_CHARACTERS);
    counts.requests += 1;
    counts.cachedTokens += cachedTokens;
    counts.inFlight += 1;
    counts.mostInFlight = Math.max(counts.mostInFlight, counts.inFlight);
    const seconds = (promptTokens - cachedTokens) / PREFILL_RATE + max_tokens / DECODE_RATE;
    await pause(seconds * 1000);
    counts.busySeconds += seconds;
    counts.inFlight -= 1;
    const content = 'word '.repeat(max_tokens).slice(0, max_tokens * TOKEN_CHARACTERS);
    const usage = {
      prompt_tokens: promptTokens,
      completion_tokens: max_tokens,
      total_tokens: promptTokens + max_tokens,
      prompt_tokens_details: { cached_tokens: cachedTokens },
    };
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
    sendJson(response, 200, { id: 'c', object: 'chat.completion', created: 1, model: 'mock', choices, usage });
  });
  return { server, counts };
}

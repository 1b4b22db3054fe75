/** One thing to be generated, greedily, to exactly `maxTokens` tokens. */
export interface Ask {
  prompt: string;
  maxTokens: number;
}

/** A piece of an answer as it arrived: when (milliseconds of `performance.now`), and how many tokens it had. */
export interface Arrival {
  atMs: number;
  tokens: number;
}

/** An answer as its client saw it. */
export interface EngineAnswer {
  askedMs: number;
  endedMs: number;
  arrivals: Arrival[];
  text: string;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
}

/** An engine or a server under measurement, warm. */
export interface EngineContender {
  name: string;
  /** Rejects when the answer breaks. An aborted signal gives what came until then, with no counts. */
  ask(ask: Ask, signal?: AbortSignal): Promise<EngineAnswer>;
  stop(): Promise<void>;
}

/** Milliseconds from the question to the first token. */
export function timeToFirstToken(answer: EngineAnswer): number {
  return (answer.arrivals[0]?.atMs ?? Number.NaN) - answer.askedMs;
}

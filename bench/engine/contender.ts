/** A greedy request for exactly `maxTokens` tokens. */
export interface Ask {
  prompt: string;
  maxTokens: number;
}

/** A delta of a completion: its time (`performance.now`) and its number of tokens. */
export interface Arrival {
  atMs: number;
  tokens: number;
}

/** A completion as the client received it. */
export interface EngineAnswer {
  askedMs: number;
  endedMs: number;
  arrivals: Arrival[];
  text: string;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
}

/** An engine or server under measurement, after its warm-up. */
export interface EngineContender {
  name: string;
  /** Rejects when the completion fails. An aborted signal returns the deltas so far, without counts. */
  ask(ask: Ask, signal?: AbortSignal): Promise<EngineAnswer>;
  stop(): Promise<void>;
}

/** Milliseconds from the request to the first token. */
export function timeToFirstToken(answer: EngineAnswer): number {
  return (answer.arrivals[0]?.atMs ?? Number.NaN) - answer.askedMs;
}

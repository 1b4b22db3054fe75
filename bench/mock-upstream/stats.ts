/** Counts of the mock upstream, served at `GET /mock/stats`. */
export interface MockStats {
  chatRequests: number;
  /** Begun or waiting to begin, and neither finished nor closed by the other side. */
  openAnswers: number;
  finished: number;
  /** The gateway closed the connection before the response was complete, as required after a client disconnect. */
  closedEarly: number;
  /** Long completions that ran to their end. No client waits for one, so each is wasted work. */
  longFinished: number;
}

/** Reads the counts of the mock upstream at `origin`. */
export async function readMockStats(origin: string): Promise<MockStats> {
  const answer = await fetch(`${origin}/mock/stats`);
  return (await answer.json()) as MockStats;
}

/** What the mock upstream has seen; `GET /mock/stats`. */
export interface MockStats {
  chatRequests: number;
  /** Begun or waiting to begin, and neither finished nor closed by the other side. */
  openAnswers: number;
  finished: number;
  /** The gateway closed the connection before the answer was out: what a client that leaves must lead to. */
  closedEarly: number;
  /** Long answers that ran to their end: nobody waits for one, so each is work done for a client that had left. */
  longFinished: number;
}

/** Asks the mock upstream at `origin` what it has seen. */
export async function readMockStats(origin: string): Promise<MockStats> {
  const answer = await fetch(`${origin}/mock/stats`);
  return (await answer.json()) as MockStats;
}

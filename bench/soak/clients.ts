import { chatRequest, complaintAbout, LONG_ANSWER, type Target } from '../http/chat-request.ts';
import { Connection } from '../http/connection.ts';

/** What the clients of a soak do. */
export interface Crowd {
  target: Target;
  connections: number;
  endMs: number;
  /** Tokens a client that stays asks for, and one that means to leave. */
  maxTokens: number;
  longMaxTokens: number;
  /** Statuses that are an answer although not a good one: a full engine may say so. */
  refusals: number[];
  /** True when there is nobody left to ask. */
  ended(): boolean;
}

/** How the clients fared. */
export interface Tally {
  answered: number;
  refused: number;
  left: Record<Departure, number>;
  /** Left too late: the answer was there before the client meant to go. */
  leftTooLate: number;
  /** Stayed, and got no whole answer: each is a fault. */
  faults: string[];
  faultCount: number;
}

/** When a client leaves. */
export type Departure = 'before-first-byte' | 'mid-stream' | 'at-random';

const DEPARTURES: Departure[] = ['before-first-byte', 'mid-stream', 'at-random'];
const SHARE_LEAVING = 1 / 3;
const LATEST_DEPARTURE_MS = 400;
/** The mock waits 20 ms before its first byte: most of these leave before it. */
const BEFORE_FIRST_BYTE_MS = 15;
const LAST_PIECE_SEEN = 12;
const FAULTS_KEPT = 10;

/** Runs `connections` clients until the end; resolves when the last one has its answer. */
export async function runCrowd(crowd: Crowd, tally: Tally): Promise<void> {
  const client = async () => {
    let connection: Connection | undefined;
    while (performance.now() < crowd.endMs && !crowd.ended()) {
      try {
        if (!connection || connection.closed) connection = await Connection.open(crowd.target.origin);
        if (Math.random() < SHARE_LEAVING) await leaveEarly(connection, crowd, tally);
        else await stay(connection, crowd, tally);
      } catch (error) {
        fault(tally, error instanceof Error ? error.message : String(error));
        await pause(100);
      }
    }
    connection?.destroy();
  };
  await Promise.all(Array.from({ length: crowd.connections }, client));
}

/** A tally of nothing. */
export function emptyTally(): Tally {
  const left = { 'before-first-byte': 0, 'mid-stream': 0, 'at-random': 0 };
  return { answered: 0, refused: 0, left, leftTooLate: 0, faults: [], faultCount: 0 };
}

async function stay(connection: Connection, crowd: Crowd, tally: Tally): Promise<void> {
  const question = { stream: Math.random() < 0.5, maxTokens: crowd.maxTokens };
  const answer = await connection.exchange(chatRequest(crowd.target, question));
  const complaint = complaintAbout(answer, question);
  if (!complaint) {
    tally.answered++;
  } else if (crowd.refusals.includes(answer.status)) {
    tally.refused++;
    await pause(200);
  } else {
    fault(tally, complaint);
  }
}

async function leaveEarly(connection: Connection, crowd: Crowd, tally: Tally): Promise<void> {
  const departure = DEPARTURES[Math.floor(Math.random() * DEPARTURES.length)] ?? 'at-random';
  // In the middle of a stream needs a stream; the others leave either kind of request.
  const stream = departure === 'mid-stream' || Math.random() < 0.5;
  const request = chatRequest(crowd.target, { stream, prompt: LONG_ANSWER, maxTokens: crowd.longMaxTokens });
  const piecesToSee = 1 + Math.floor(Math.random() * LAST_PIECE_SEEN);
  let pieces = 0;
  const waitMs = Math.random() * (departure === 'before-first-byte' ? BEFORE_FIRST_BYTE_MS : LATEST_DEPARTURE_MS);
  let gone = false;
  const leave = () => {
    gone = true;
    connection.destroy();
  };
  const timer = departure === 'mid-stream' ? undefined : setTimeout(leave, waitMs);
  try {
    const answer = await connection.exchange(request, () => {
      if (departure === 'mid-stream' && ++pieces === piecesToSee) leave();
    });
    if (crowd.refusals.includes(answer.status)) await pause(200);
    if (answer.status === 200 || crowd.refusals.includes(answer.status)) tally.leftTooLate++;
    else fault(tally, `to a client about to leave: ${complaintAbout(answer, { stream }) ?? answer.status}`);
  } catch (error) {
    if (!gone) throw error;
    tally.left[departure]++;
  } finally {
    clearTimeout(timer);
  }
}

function fault(tally: Tally, text: string): void {
  tally.faultCount++;
  if (tally.faults.length < FAULTS_KEPT) tally.faults.push(text);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

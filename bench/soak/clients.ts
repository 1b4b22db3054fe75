import { chatRequest, findDefect, LONG_COMPLETION_PROMPT, type Target } from '../http/chat-request.ts';
import { Connection } from '../http/connection.ts';

/** Options of the clients. */
export interface SoakClientOptions {
  target: Target;
  connections: number;
  endMs: number;
  /** Token limits of clients that stay and of those that disconnect. */
  maxTokens: number;
  longMaxTokens: number;
  /** Expected error statuses: a full engine may reject requests. */
  refusals: number[];
  /** True when the service has exited. */
  ended(): boolean;
}

/** Counts of client outcomes. */
export interface OutcomeCounts {
  answered: number;
  refused: number;
  left: Record<Departure, number>;
  /** The response was complete before the planned disconnect. */
  leftTooLate: number;
  /** Failures: clients that waited for a response and got none, or an incomplete one. */
  faults: string[];
  faultCount: number;
}

/** Moments of a disconnect. */
export type Departure = 'before-first-byte' | 'mid-stream' | 'at-random';

const DEPARTURES: Departure[] = ['before-first-byte', 'mid-stream', 'at-random'];
const SHARE_LEAVING = 1 / 3;
const LATEST_DEPARTURE_MS = 400;
/** The mock waits 20 ms before its first byte, so most of these disconnect earlier. */
const BEFORE_FIRST_BYTE_MS = 15;
const LAST_PIECE_SEEN = 12;
const FAULTS_KEPT = 10;

/** Runs `connections` clients until the end. Resolves when the last response has arrived. */
export async function runClients(crowd: SoakClientOptions, tally: OutcomeCounts): Promise<void> {
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

/** Creates empty counts. */
export function emptyCounts(): OutcomeCounts {
  const left = { 'before-first-byte': 0, 'mid-stream': 0, 'at-random': 0 };
  return { answered: 0, refused: 0, left, leftTooLate: 0, faults: [], faultCount: 0 };
}

async function stay(connection: Connection, crowd: SoakClientOptions, tally: OutcomeCounts): Promise<void> {
  const question = { stream: Math.random() < 0.5, maxTokens: crowd.maxTokens };
  const answer = await connection.exchange(chatRequest(crowd.target, question));
  const complaint = findDefect(answer, question);
  if (!complaint) {
    tally.answered++;
  } else if (crowd.refusals.includes(answer.status)) {
    tally.refused++;
    await pause(200);
  } else {
    fault(tally, complaint);
  }
}

async function leaveEarly(connection: Connection, crowd: SoakClientOptions, tally: OutcomeCounts): Promise<void> {
  const departure = DEPARTURES[Math.floor(Math.random() * DEPARTURES.length)] ?? 'at-random';
  // A disconnect in the middle of a stream needs a stream; the others use both kinds of requests.
  const stream = departure === 'mid-stream' || Math.random() < 0.5;
  const request = chatRequest(crowd.target, { stream, prompt: LONG_COMPLETION_PROMPT, maxTokens: crowd.longMaxTokens });
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
    else fault(tally, `to a client about to leave: ${findDefect(answer, { stream }) ?? answer.status}`);
  } catch (error) {
    if (!gone) throw error;
    tally.left[departure]++;
  } finally {
    clearTimeout(timer);
  }
}

function fault(tally: OutcomeCounts, text: string): void {
  tally.faultCount++;
  if (tally.faults.length < FAULTS_KEPT) tally.faults.push(text);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

import { AsyncEvent } from '../lib/async-event.ts';
import { pause } from '../lib/retry.ts';
import type { Channel, Database } from './db.ts';

/** What `followChanges` follows. */
export interface FollowedChanges {
  channel: Channel;
  /** Whether the notification with this payload is about a change of it. */
  isAbout(payload: string): boolean;
  /** Maximum time after which a change is noticed whose notification was lost. */
  pollMs: number;
  /** Minimum time between two iterations. Default: 0. */
  minMs?: number;
}

/**
 * Iterates now, after each change, and when notifications may have been lost, until `signal` aborts. Each iteration
 * reads the state: a change that commits after its start leads to another iteration, several changes to one.
 */
export async function* followChanges(
  db: Pick<Database, 'listen'>,
  { channel, isAbout, pollMs, minMs = 0 }: FollowedChanges,
  signal: AbortSignal,
): AsyncGenerator<void, void, undefined> {
  const changed = new AsyncEvent();
  const wake = () => changed.wake();
  const unlisten = db.listen(channel, { onNotification: (payload) => void (isAbout(payload) && wake()), onGap: wake });
  signal.addEventListener('abort', wake);
  try {
    while (!signal.aborted) {
      changed.reset();
      yield;
      if (minMs > 0) await pause(minMs, signal).catch(() => {});
      await changed.wait(pollMs);
    }
  } finally {
    signal.removeEventListener('abort', wake);
    unlisten();
  }
}

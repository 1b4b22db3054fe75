import { raiseOomScore } from '../../../lib/oom-score.ts';
import { HEARTBEAT_INTERVAL_MS } from './host-protocol.ts';

/** Killed before the service, whose own size counts against it, and after a document reader. */
const OOM_SCORE = 900;

/**
 * Makes this process a host: hears its parent, says that it is there, and ends with its parent. Gives what sends to it.
 * Called once.
 */
export function liveAsHost<Told extends object, Said extends object>(
  hear: (message: Told) => void,
): (message: Said) => void {
  raiseOomScore(OOM_SCORE);
  const say = (message: object): void => {
    if (process.connected) process.send?.(message);
  };
  process.on('message', hear);
  setInterval(() => say({ type: 'alive' }), HEARTBEAT_INTERVAL_MS);
  // The parent is gone. No orderly exit: that would wait for the computation under way.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  // A parent that was killed while this process loaded its modules: the event is over, and the timer would keep this process alive.
  if (!process.connected) process.exit();
  return say;
}

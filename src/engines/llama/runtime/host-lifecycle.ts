import { raiseOomScore } from '../../../lib/oom-score.ts';
import { HEARTBEAT_INTERVAL_MS } from './host-protocol.ts';

/** Killed before the service, whose own size counts against it, and after a document reader. */
const OOM_SCORE = 900;

/**
 * Makes this process a host: hears its parent, says that it is there, and ends with its parent. Gives what sends to it.
 * Called once.
 */
export function runHost<Incoming extends object, Outgoing extends object>(
  onMessage: (message: Incoming) => void,
): (message: Outgoing) => void {
  raiseOomScore(OOM_SCORE);
  const send = (message: object): void => {
    if (process.connected) process.send?.(message);
  };
  process.on('message', onMessage);
  setInterval(() => send({ type: 'alive' }), HEARTBEAT_INTERVAL_MS);
  // The parent is gone. No orderly exit: that would wait for the computation under way.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  // A parent that was killed while this process loaded its modules: the event is over, and the timer would keep this process alive.
  if (!process.connected) process.exit();
  return send;
}

import { raiseOomScore } from '../../../lib/oom-score.ts';
import { HEARTBEAT_INTERVAL_MS } from './host-protocol.ts';

/** Killed before the service, which the kernel charges with its own memory, and after a document reader. */
const OOM_SCORE = 900;

/**
 * Turns this process into a host: receives messages of its parent, sends heartbeats, and ends with its parent. Returns
 * the send function. Called once.
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
  // The parent has exited. No orderly exit, which would wait for the computation in progress.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
  // The parent was killed while this process loaded its modules: no `disconnect` event follows, and the timer would
  // keep this process alive.
  if (!process.connected) process.exit();
  return send;
}

import { open, readFile, rm, stat, utimes } from 'node:fs/promises';
import { isProcessRunning } from '../../lib/is-process-running.ts';
import { OperatorError } from '../../lib/operator-error.ts';

/** Interval of the heartbeat: the modification time of the lock file. */
const HEARTBEAT_MS = 10_000;
/** A lock without a heartbeat for this long is stale, even if a process with its PID exists: PIDs are reused. */
const STALE_MS = 60_000;

/**
 * Locks the download of one model for this process, because two downloads would write to one file. Takes over the lock
 * of an exited process. Throws an `OperatorError` while another process holds it.
 */
export async function lockPull(path: string, name: string): Promise<{ release(): Promise<void> }> {
  if (!(await create(path))) {
    await removeStale(path, name);
    if (!(await create(path))) throw busy(name);
  }
  const heartbeat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, HEARTBEAT_MS);
  heartbeat.unref();
  return {
    release: async () => {
      clearInterval(heartbeat);
      await rm(path, { force: true });
    },
  };
}

async function create(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600);
    await file.writeFile(String(process.pid));
    await file.close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

async function removeStale(path: string, name: string): Promise<void> {
  const stats = await stat(path).catch(() => null);
  if (stats === null) return;
  const pid = Number(await readFile(path, 'utf8').catch(() => ''));
  const isHeld = !(pid > 0) || isProcessRunning(pid);
  if (Date.now() - stats.mtimeMs < STALE_MS && isHeld) throw busy(name);
  await rm(path, { force: true });
}

function busy(name: string): OperatorError {
  return new OperatorError(`Another pull of '${name}' is running on this data folder; wait for it, or stop it.`);
}

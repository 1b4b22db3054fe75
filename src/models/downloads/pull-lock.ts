import { open, readFile, rm, stat, utimes } from 'node:fs/promises';
import { OperatorError } from '../../lib/operator-error.ts';

/** How often a pull says that it still runs. */
const BEAT_MS = 10_000;
/** A lock that nobody has touched for so long was left by a process that is gone, whoever has its number now. */
const STALE_MS = 60_000;

/**
 * Takes the right to fetch one model, for this process: two at once would write into one file. The lock of a process
 * that has ended is taken over. Throws a `OperatorError` while another process fetches it.
 */
export async function lockPull(path: string, name: string): Promise<{ release(): Promise<void> }> {
  if (!(await create(path))) {
    await removeStale(path, name);
    if (!(await create(path))) throw busy(name);
  }
  const beat = setInterval(() => {
    const now = new Date();
    utimes(path, now, now).catch(() => {});
  }, BEAT_MS);
  beat.unref();
  return {
    release: async () => {
      clearInterval(beat);
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
  const found = await stat(path).catch(() => null);
  if (found === null) return;
  const pid = Number(await readFile(path, 'utf8').catch(() => ''));
  if (Date.now() - found.mtimeMs < STALE_MS && isAlive(pid)) throw busy(name);
  await rm(path, { force: true });
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function busy(name: string): OperatorError {
  return new OperatorError(`Another pull of '${name}' is under way on this data folder; wait for it, or stop it.`);
}

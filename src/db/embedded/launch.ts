import { type ChildProcess, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { ProgramResult, ServerUser } from './server-user.ts';

/** PostgreSQL gets no variable of the service: some contain secrets, and `PG*` would change its settings. */
const ENVIRONMENT = { LC_ALL: 'C', PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' };

/**
 * Starts a program as the server's user, in `folder`. The folder becomes the working directory before privileges are
 * dropped, so its parents may be inaccessible to that user. The program gets its own session, because Ctrl-C in a
 * terminal signals the whole foreground group.
 */
export function launch(user: ServerUser, folder: string, command: readonly string[]): ChildProcess {
  const [program = '', ...args] = [...user.prefix, ...command];
  return spawn(program, args, {
    cwd: folder,
    env: ENVIRONMENT,
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
    ...user.credentials,
  });
}

/** Runs a program until it exits. Never throws. */
export async function run(user: ServerUser, folder: string, command: readonly string[]): Promise<ProgramResult> {
  const child = launch(user, folder, command);
  const stderr = child.stderr === null ? Promise.resolve('') : text(child.stderr).catch(() => '');
  const ended = new Promise<ProgramResult>((resolve) => {
    child.once('error', (error) => resolve({ code: -1, stderr: error.message }));
    child.once('close', async (code) => resolve({ code: code ?? -1, stderr: (await stderr).trim() }));
  });
  return ended;
}

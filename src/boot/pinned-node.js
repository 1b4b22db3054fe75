// Plain JavaScript, because the Node that runs this module may be too old for TypeScript.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The Node that `npm ci` installs. */
const PINNED_NODE = fileURLToPath(new URL('../../node_modules/node/bin/node', import.meta.url));
/** Exit code of a process that a signal ended: 128 plus the number of the signal. */
const SIGNAL_EXIT = { SIGHUP: 129, SIGINT: 130, SIGKILL: 137, SIGTERM: 143 };

/**
 * Runs this command again on the installed Node and never returns from it: `quire` started by a global link or a shell
 * script gets the Node of the machine. Returns without effect when Node is not installed.
 */
export async function runOnPinnedNode() {
  if (!existsSync(PINNED_NODE) || realpathSync(PINNED_NODE) === realpathSync(process.execPath)) return;
  const child = spawn(PINNED_NODE, process.argv.slice(1), { stdio: 'inherit' });
  // A terminal sends Ctrl-C to both processes; forwarding it as well would count as a second signal.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  const code = await new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (exitCode, signal) => resolve(exitCode ?? SIGNAL_EXIT[signal] ?? 1));
  });
  process.exit(code);
}

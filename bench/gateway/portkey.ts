import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type RunningChild, startChild } from '../harness/child-process.ts';

/** The version measured; the peers' published figures are of this one. */
export const PORTKEY_VERSION = '1.15.2';

/**
 * With a later one its streamed answers are 500 (`TypeError: immutable`, Portkey-AI/gateway#1389), and a plain install
 * fetches a later one.
 */
const HONO_NODE_SERVER_VERSION = '1.14.1';

const FOLDER = join(import.meta.dirname, `../../.scratch/portkey-gateway-${PORTKEY_VERSION}`);
const PACKAGE = join(FOLDER, 'node_modules/@portkey-ai/gateway');
const INSTALL_LIMIT_MS = 180_000;
const READY_LIMIT_MS = 30_000;

/**
 * Installs Portkey's gateway into a folder that git ignores, unless it is there: 95 packages that only this benchmark
 * wants. Rejects when npm cannot fetch it.
 */
export async function installPortkey(): Promise<void> {
  const manifest = JSON.stringify({
    private: true,
    dependencies: { '@portkey-ai/gateway': PORTKEY_VERSION },
    overrides: { '@hono/node-server': HONO_NODE_SERVER_VERSION },
  });
  // Written again after the install, so a half-done install is not taken for a whole one.
  const marker = join(FOLDER, 'installed.json');
  if ((await readFile(marker, 'utf8').catch(() => '')) === manifest) return;
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, 'package.json'), manifest);
  // Scripts stay off: its only one (patch-package) has nothing to patch in the published package.
  const flags = ['--prefix', FOLDER, '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund'];
  await promisify(execFile)('npm', ['install', ...flags], { cwd: FOLDER, timeout: INSTALL_LIMIT_MS });
  await writeFile(marker, manifest);
}

/** Starts Portkey's gateway as its README does for production, without its console page. */
export async function startPortkey(): Promise<RunningChild> {
  const port = await freePort();
  const child = await startChild({
    name: 'Portkey',
    nodeArgs: [join(PACKAGE, 'build/start-server.js'), `--port=${port}`, '--headless'],
    cwd: FOLDER,
    ready: /Ready for connections/,
    readyLimitMs: READY_LIMIT_MS,
  });
  // It prints `localhost`, and listens on every address: a name to look up would cost it time that is not its own.
  return { ...child, origin: `http://127.0.0.1:${port}` };
}

/** The headers that make it pass a request on to `upstreamUrl` (ending in `/v1`). */
export function portkeyHeaders(upstreamUrl: string): Record<string, string> {
  return {
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': upstreamUrl,
    authorization: 'Bearer x',
  };
}

/** It takes a port only as a number, so one is found first. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, () => {
      const address = probe.address();
      const port = address && typeof address === 'object' ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type RunningChild, startChild } from '../harness/child-process.ts';

/** Measured version, for which the published figures hold. */
export const PORTKEY_VERSION = '1.15.2';

/**
 * Pinned: with a later version its streamed responses are 500 (`TypeError: immutable`, Portkey-AI/gateway#1389), and a
 * plain install resolves to a later version.
 */
const HONO_NODE_SERVER_VERSION = '1.14.1';

const FOLDER = join(import.meta.dirname, `../../.scratch/portkey-gateway-${PORTKEY_VERSION}`);
const PACKAGE = join(FOLDER, 'node_modules/@portkey-ai/gateway');
const INSTALL_LIMIT_MS = 180_000;
const READY_LIMIT_MS = 30_000;

/**
 * Installs Portkey's gateway (95 packages) into a git-ignored folder unless it is there. Rejects when npm cannot fetch
 * it.
 */
export async function installPortkey(): Promise<void> {
  const manifest = JSON.stringify({
    private: true,
    dependencies: { '@portkey-ai/gateway': PORTKEY_VERSION },
    overrides: { '@hono/node-server': HONO_NODE_SERVER_VERSION },
  });
  // Written after the install, so that an incomplete install is repeated.
  const marker = join(FOLDER, 'installed.json');
  if ((await readFile(marker, 'utf8').catch(() => '')) === manifest) return;
  await mkdir(FOLDER, { recursive: true });
  await writeFile(join(FOLDER, 'package.json'), manifest);
  // Scripts are disabled: the only one (patch-package) has nothing to patch in the published package.
  const flags = ['--prefix', FOLDER, '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund'];
  await promisify(execFile)('npm', ['install', ...flags], { cwd: FOLDER, timeout: INSTALL_LIMIT_MS });
  await writeFile(marker, manifest);
}

/** Starts Portkey's gateway as its README does for production, without its console. */
export async function startPortkey(): Promise<RunningChild> {
  const port = await freePort();
  const child = await startChild({
    name: 'Portkey',
    nodeArgs: [join(PACKAGE, 'build/start-server.js'), `--port=${port}`, '--headless'],
    cwd: FOLDER,
    ready: /Ready for connections/,
    readyLimitMs: READY_LIMIT_MS,
  });
  // Uses the address instead of the printed `localhost`, which would add a name lookup.
  return { ...child, origin: `http://127.0.0.1:${port}` };
}

/** Headers that make it forward a request to `upstreamUrl` (ending in `/v1`). */
export function portkeyHeaders(upstreamUrl: string): Record<string, string> {
  return {
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': upstreamUrl,
    authorization: 'Bearer x',
  };
}

/** It accepts only a fixed port, so a free one is searched first. */
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

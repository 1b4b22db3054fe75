import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type RunningChild, startChild } from '../harness/child-process.ts';

/**
 * Versions of the npm package and of its server library, newest first. The first needs glibc 2.39; the second is the
 * last one for older systems.
 */
const RELEASES = [
  { version: '3.5.0', server: '1.3.4' },
  { version: '3.0.10', server: '1.0.5' },
] as const;

const SCRATCH = join(import.meta.dirname, '../../.scratch');
const INSTALL_LIMIT_MS = 600_000;
const READY_LIMIT_MS = 60_000;

/** An installed release: its folder and display name. */
export interface ChromaRelease {
  folder: string;
  label: string;
}

/** Installs the newest release whose server runs here into an ignored folder. Rejects when none does. */
export async function installChroma(): Promise<ChromaRelease> {
  const reasons: string[] = [];
  for (const release of RELEASES) {
    try {
      const folder = await install(release);
      await promisify(execFile)(process.execPath, [cliOf(folder), '--version'], { timeout: READY_LIMIT_MS });
      return { folder, label: `Chroma ${release.server}` };
    } catch (error) {
      reasons.push(`chromadb ${release.version}: ${firstError(error)}`);
    }
  }
  throw new Error(reasons.join('; '));
}

function firstError(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return /Error: .*/.exec(text)?.[0] ?? text.slice(0, 200);
}

function cliOf(folder: string): string {
  return join(folder, 'node_modules/chromadb/dist/cli.mjs');
}

async function install({ version, server }: (typeof RELEASES)[number]): Promise<string> {
  const folder = join(SCRATCH, `chromadb-${version}`);
  const library = `chromadb-js-bindings-${process.platform}-${process.arch}${process.platform === 'linux' ? '-gnu' : ''}`;
  const manifest = JSON.stringify({ private: true, dependencies: { chromadb: version, [library]: server } });
  // Written after the install, so that an incomplete install is repeated.
  const marker = join(folder, 'installed.json');
  if ((await readFile(marker, 'utf8').catch(() => '')) === manifest) return folder;
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, 'package.json'), manifest);
  const flags = ['--prefix', folder, '--ignore-scripts', '--omit=dev', '--no-audit', '--no-fund'];
  await promisify(execFile)('npm', ['install', ...flags], { cwd: folder, timeout: INSTALL_LIMIT_MS });
  await writeFile(marker, manifest);
  return folder;
}

/** Starts the server with its own data folder. */
export async function startChroma(release: ChromaRelease, data: string): Promise<RunningChild> {
  const port = await freePort();
  const child = await startChild({
    name: release.label,
    nodeArgs: [cliOf(release.folder), 'run', '--path', data, '--host', '127.0.0.1', '--port', String(port)],
    cwd: release.folder,
    ready: /OpenTelemetry is not enabled|Listening/i,
    readyLimitMs: READY_LIMIT_MS,
  });
  return { ...child, origin: `http://127.0.0.1:${port}` };
}

/** Finds a free port, because the server does not accept 0. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      const port = address && typeof address === 'object' ? address.port : 0;
      probe.close(() => resolve(port));
    });
  });
}

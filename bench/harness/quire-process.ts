import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type RunningChild, startChild } from './child-process.ts';
import { CHECKOUT } from './command.ts';

const ENTRY = join(CHECKOUT, 'src/start.js');
/** The first start creates a database, which is slow on a loaded machine. */
const READY_LIMIT_MS = 180_000;

/** A Quire service on a temporary folder, which `stop` removes. */
export interface RunningQuire extends RunningChild {
  apiKey: string;
}

/** Whether this checkout contains the service. */
export function hasQuire(): boolean {
  return existsSync(ENTRY);
}

/** Rate limits of every benchmark: each request is counted, and none is rejected. */
export const BENCH_RATE_LIMITS = 'requests=1000000000,tokens=1000000000,concurrent=1000000';

/**
 * Starts Quire as a user does, on a free port and an empty folder, with authentication, usage recording and
 * `BENCH_RATE_LIMITS`. `upstreamUrl` (ending in `/v1`) serves every model; by default the bundled models do. `settings`
 * are further environment variables. `onOutput` receives stdout and stderr.
 */
export async function startQuire(
  upstreamUrl?: string,
  nodeArgs: string[] = [],
  settings: Record<string, string> = {},
  onOutput?: (text: string) => void,
): Promise<RunningQuire> {
  const dataDir = await mkdtemp(join(tmpdir(), 'quire-bench-'));
  const apiKey = `quire-sk-${randomBytes(20).toString('hex')}`;
  const removeData = () => rm(dataDir, { recursive: true, force: true });
  const upstream = upstreamUrl
    ? { QUIRE_UPSTREAM_URL: upstreamUrl, QUIRE_UPSTREAM_MODEL: 'mock', QUIRE_UPSTREAM_API_KEY: 'x' }
    : {};
  try {
    const child = await startChild({
      name: 'Quire',
      nodeArgs: [...nodeArgs, ENTRY, 'serve'],
      // Outside the checkout, which may contain a quire.yaml.
      cwd: dataDir,
      env: {
        QUIRE_DATA_DIR: join(dataDir, 'data'),
        QUIRE_PORT: '0',
        QUIRE_MODELS_PULL: 'never',
        QUIRE_LOG_LEVEL: 'warn',
        QUIRE_RATE_LIMITS: BENCH_RATE_LIMITS,
        QUIRE_BOOTSTRAP_API_KEY: apiKey,
        ...upstream,
        ...settings,
      },
      ready: /^Quire is ready at (http:\/\/127\.0\.0\.1:\d+)/m,
      readyLimitMs: READY_LIMIT_MS,
      onOutput,
    });
    return { ...child, apiKey, stop: () => child.stop().finally(removeData) };
  } catch (error) {
    await removeData();
    throw error;
  }
}

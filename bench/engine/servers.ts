import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from '../harness/child-process.ts';
import { startQuire } from '../harness/quire-process.ts';
import type { EngineContender } from './contender.ts';
import { askHttp, type CompletionServer } from './http-contender.ts';

const LOAD_LIMIT_MS = 120_000;
const MODEL_ID = 'bench';

/** Options shared by all contenders of a comparison. */
export interface EngineSetup {
  file: string;
  /** Tokens of prompt and completion per sequence. */
  contextTokens: number;
  slots: number;
  threads: number;
}

/**
 * Starts llama-server on a free port with its defaults, except for comparability: slots with separate contexts, as many
 * tokens per step as Quire, and no prompt reuse unless `cache` is set.
 */
export async function startLlamaServer(program: string, setup: EngineSetup, cache = false): Promise<EngineContender> {
  const port = await freePort();
  const flags = {
    '-m': setup.file,
    '-c': setup.contextTokens * setup.slots,
    '-np': setup.slots,
    '-t': setup.threads,
    '-tb': setup.threads,
    '-ub': 512,
    '--host': '127.0.0.1',
    '--port': port,
    '--cache-ram': cache ? 4096 : 0,
  };
  const args = [
    ...Object.entries(flags).flatMap(([flag, value]) => [flag, String(value)]),
    '--no-kv-unified',
    '--no-webui',
  ];
  const child = await startChild({
    name: 'llama-server',
    program,
    nodeArgs: args,
    ready: /listening on/,
    readyLimitMs: LOAD_LIMIT_MS,
  });
  const server: CompletionServer = {
    origin: `http://127.0.0.1:${port}`,
    headers: {},
    model: MODEL_ID,
    fields: { ignore_eos: true, cache_prompt: cache },
  };
  return { name: 'llama-server', ask: (ask, signal) => askHttp(server, ask, signal), stop: () => child.stop() };
}

/**
 * Starts the whole service with the model under a separate id. It calibrates everything except threads and sequences.
 */
export async function startQuireContender(setup: EngineSetup): Promise<EngineContender> {
  const folder = await mkdtemp(join(tmpdir(), 'quire-bench-config-'));
  const config = join(folder, 'quire.yaml');
  const entry = { file: setup.file, context_length: setup.contextTokens };
  await writeFile(config, JSON.stringify({ models: { [MODEL_ID]: entry } }));
  try {
    const quire = await startQuire(undefined, [], {
      QUIRE_CONFIG: config,
      QUIRE_LOCAL_THREADS: String(setup.threads),
      QUIRE_LOCAL_SEQUENCES: String(setup.slots),
    });
    const server: CompletionServer = {
      origin: quire.origin,
      headers: { authorization: `Bearer ${quire.apiKey}` },
      model: MODEL_ID,
      fields: {},
    };
    const stop = () => quire.stop().finally(() => rm(folder, { recursive: true, force: true }));
    return { name: 'Quire, HTTP', ask: (ask, signal) => askHttp(server, ask, signal), stop };
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

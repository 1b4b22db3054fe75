/**
 * `npm run test:mcp -- [--write]`: runs the suite of the Model Context Protocol against `/mcp` of a new service, then
 * again with the server that the suite describes in the place of ours, which shows that the failures of the first run
 * are missing tools. `--write` stores the counts for `npm run conformance`. Installs the suite in `.scratch` once.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { parseArgs, promisify } from 'node:util';
import { startService, useEmbeddedDatabases } from '../spawned-service.ts';

/** The latest version; the following ones are alpha. */
const VERSION = '0.1.16';
const FOLDER = join(import.meta.dirname, `../../.scratch/mcp-conformance-${VERSION}`);
const RESULTS = new URL('../../tools/mcp-conformance.json', import.meta.url);
const REVISIONS = ['2025-06-18', '2025-11-25'];
const PRELOAD = new URL('replace-server.ts', import.meta.url).href;

/** Result of one run of the suite. */
export interface McpConformance {
  server: 'ours' | 'reference';
  revision: string;
  /** Scenarios whose checks pass. Those without a check neither pass nor fail. */
  passed: number;
  failed: string[];
}

interface Check {
  status: string;
}

async function install(): Promise<void> {
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(join(FOLDER, 'package.json'), '{ "private": true }');
  const wanted = `@modelcontextprotocol/conformance@${VERSION}`;
  await promisify(execFile)('npm', [
    'install',
    '--prefix',
    FOLDER,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    wanted,
  ]);
}

/** The suite sends no key: the proxy adds it. Returns the port. */
async function startProxy(target: string, key: string): Promise<{ port: number; close(): void }> {
  const proxy = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${key}` };
    const url = new URL(incoming.url ?? '/', target);
    const forwarded = request(url, { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return { port: (proxy.address() as AddressInfo).port, close: () => proxy.close() };
}

/** Runs the suite against a new service. `nodeOptions`: of its process. */
async function runSuite(revision: string, server: McpConformance['server']): Promise<McpConformance> {
  const env = server === 'ours' ? {} : { NODE_OPTIONS: `--import ${PRELOAD}` };
  const service = await startService({ env });
  const proxy = await startProxy(service.url, service.key);
  const output = join(FOLDER, 'results');
  rmSync(output, { recursive: true, force: true });
  try {
    const program = join(FOLDER, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
    const target = ['--url', `http://127.0.0.1:${proxy.port}/mcp`, '--suite', 'all', '--spec-version', revision];
    // Exits with 1 when a scenario fails.
    await promisify(execFile)(process.execPath, [program, 'server', ...target, '-o', output], { cwd: FOLDER }).catch(
      () => undefined,
    );
    return { server, revision, ...readResults(output) };
  } finally {
    proxy.close();
    await service.stop();
  }
}

function readResults(folder: string): Pick<McpConformance, 'passed' | 'failed'> {
  const scenarios = readdirSync(folder).map((name) => {
    const checks = JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8')) as Check[];
    const has = (status: string) => checks.some((check) => check.status === status);
    return { name: name.replace(/^server-(.*)-\d{4}-.*$/, '$1'), hasFailed: has('FAILURE'), hasPassed: has('SUCCESS') };
  });
  return {
    passed: scenarios.filter(({ hasFailed, hasPassed }) => hasPassed && !hasFailed).length,
    failed: scenarios.flatMap(({ name, hasFailed }) => (hasFailed ? [name] : [])).sort(),
  };
}

const { values: flags } = parseArgs({ options: { write: { type: 'boolean', default: false } } });
await install();
useEmbeddedDatabases();
const results: McpConformance[] = [];
for (const revision of REVISIONS)
  for (const server of ['ours', 'reference'] as const) {
    const result = await runSuite(revision, server);
    results.push(result);
    console.log(`${revision} ${server}: ${result.passed} passed, ${result.failed.length} failed`);
    for (const name of result.failed) console.log(`  failed: ${name}`);
  }
if (flags.write)
  writeFileSync(
    RESULTS,
    `${JSON.stringify({ version: VERSION, date: new Date().toISOString().slice(0, 10), results }, null, 2)}\n`,
  );

/**
 * `npm run conformance`: prints one table of what Quire covers: OpenAI's specification by group, suites of other
 * specifications, and clients.
 *
 * The counts of the specification come from `openai/coverage.json`. `--spec FILE` measures them again on a copy of
 * OpenAI's specification (YAML, gzip) and lists the problems of a group with `--list GROUP`; `--write` stores the
 * counts. `--no-suites` leaves the suites out, which take half a minute.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { loadReasons } from './openai/comparison.ts';
import { coverageScore, type GroupCoverage, measureCoverage } from './openai/coverage.ts';
import type { Description } from './openai/operations.ts';

/** Tags of OpenAI's specification. */
const GROUPS = [
  ...['Chat', 'Completions', 'Embeddings', 'Models', 'Files', 'Moderations', 'Responses', 'Batch'],
  ...['Vector stores', 'Conversations'],
];
const COVERAGE = new URL('openai/coverage.json', import.meta.url);
const OURS = new URL('../docs/openapi.json', import.meta.url);
const MCP = new URL('mcp-conformance.json', import.meta.url);
const CHECKOUT = new URL('..', import.meta.url);
const CLIENTS = new URL('../docs/use/clients.md', import.meta.url);

/** Suites of other specifications, by test file. */
const SUITES = {
  'Open Responses': 'src/responses/open-responses.test.ts',
  'Model Context Protocol': 'src/protocols/mcp/mcp.test.ts',
  'Anthropic Messages, as a server': 'src/protocols/anthropic/messages.test.ts',
  'Anthropic Messages, as a client': 'src/engines/upstream/messages/messages-dialect.test.ts',
  Ollama: 'src/protocols/ollama/ollama.test.ts',
  'Ollama, requests of Open WebUI': 'src/protocols/ollama/open-webui.test.ts',
};

/** Suites that are not in the tree, as they were last run. `bench/results/0028-protocols.md` has the commands. */
const RECORDED = [
  ['Suite: Open Responses, its compliance suite, 2026-11-23', '17 of 17 tests, with a model that reads images'],
];

/** What `npm run test:mcp -- --write` stores. */
interface McpConformance {
  version: string;
  date: string;
  results: { server: 'ours' | 'reference'; revision: string; passed: number; failed: string[] }[];
}

/** Runs of the suite of the Model Context Protocol. docs/use/mcp.md has the reason of each failure. */
function listMcpRuns(): string[][] {
  const { version, date, results } = JSON.parse(readFileSync(MCP, 'utf8')) as McpConformance;
  const tools = { ours: 'our tools', reference: "the suite's tools on our transport" };
  return results.map(({ server, revision, passed, failed }) => [
    `Suite: @modelcontextprotocol/conformance ${version}, revision ${revision}, ${tools[server]}, ${date}`,
    `${passed} of ${passed + failed.length} scenarios`,
  ]);
}

/** Counts of one group, as they are stored. */
export interface StoredCoverage {
  group: string;
  operations: string;
  properties: number;
  missing: number;
  different: number;
  /** Problems among them that `openai/differences.json` marks as intended. */
  intended: number;
  differentByOgx: number;
}

/** Measures the coverage on a copy of OpenAI's specification. */
export function measureSpecification(path: string): GroupCoverage[] {
  const theirs = parse(gunzipSync(readFileSync(path)).toString()) as Description;
  return measureCoverage(theirs, JSON.parse(readFileSync(OURS, 'utf8')) as Description, GROUPS);
}

/** The counts that are stored and printed. */
export function countCoverage(groups: readonly GroupCoverage[]): StoredCoverage[] {
  const reasons = loadReasons();
  return groups.map(({ group, operations, theirOperations, properties, missing, different, differentByOgx }) => ({
    group,
    operations: `${operations} of ${theirOperations}`,
    properties,
    missing: missing.length,
    different: different.length,
    intended: [...missing, ...different].filter((problem) => reasons.isIntended(problem)).length,
    differentByOgx,
  }));
}

/** The stored counts. */
export const storedCoverage = (): StoredCoverage[] => JSON.parse(readFileSync(COVERAGE, 'utf8')) as StoredCoverage[];

/** Renders the coverage and other rows as one table in Markdown. */
function renderConformance(groups: readonly StoredCoverage[], others: readonly string[][]): string {
  const coverage = groups.map(({ group, operations, properties, missing, different, intended, differentByOgx }) => {
    const problems = missing + different;
    const percent = (count: number) => coverageScore(properties, count).toFixed(1);
    const scores =
      properties === 0
        ? ['-', '-', '-']
        : [percent(problems), percent(problems - intended), percent(missing + differentByOgx)];
    const counts = `${operations} operations, ${properties} properties: ${missing} missing, ${different} different`;
    return [`OpenAI: ${group}`, counts, ...scores];
  });
  const rest = others.map((row) => [...row, '', '', '']);
  const head = ['Subject', 'Counts', 'Coverage %', 'Without what the contract demands %', "By OGX's rule %"];
  const rows = [head, head.map(() => '---'), ...coverage, ...rest];
  return rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

/** Runs each suite, and returns its row. */
function runSuites(): string[][] {
  return Object.entries(SUITES).map(([name, file]) => {
    const { stdout, status } = spawnSync(process.execPath, ['test/run.js', file], { cwd: CHECKOUT, encoding: 'utf8' });
    if (status !== 0) process.exitCode = 1;
    const count = (what: string) => new RegExp(`^\\S+ ${what} (\\d+)$`, 'm').exec(stdout)?.[1] ?? '0';
    return [`Suite: ${name}`, `${count('pass')} of ${count('tests')} tests`];
  });
}

/** The rows of the page that `npm run test:clients -- --write` writes. */
function listClients(): string[][] {
  const [, table = ''] = readFileSync(CLIENTS, 'utf8').split('<!-- table -->');
  const rows = (table.split('<!-- end of table -->')[0] ?? '').split('\n').filter((line) => / of \d+ \|$/.test(line));
  return rows.map((line) => {
    const cells = line.split('|').map((cell) => cell.trim());
    return [`Client: ${cells[1]} ${cells[2]}`, `${cells.at(-2)} features`];
  });
}

if (import.meta.main) {
  const { values: flags } = parseArgs({
    options: {
      spec: { type: 'string' },
      list: { type: 'string' },
      write: { type: 'boolean', default: false },
      suites: { type: 'boolean', default: true },
    },
    allowNegative: true,
  });
  const measured = flags.spec === undefined ? null : measureSpecification(flags.spec);
  const groups = measured === null ? storedCoverage() : countCoverage(measured);
  if (flags.write && measured !== null) writeFileSync(COVERAGE, `${JSON.stringify(groups, null, 2)}\n`);
  console.log(
    renderConformance(groups, [...(flags.suites ? runSuites() : []), ...RECORDED, ...listMcpRuns(), ...listClients()]),
  );
  const listed = measured?.find(({ group }) => group === flags.list);
  for (const problem of listed?.missing ?? []) console.log(`missing: ${problem}`);
  for (const problem of listed?.different ?? []) console.log(`different: ${problem}`);
}

/**
 * The code blocks of the guide. Shell blocks run in bash with programs that record their arguments: requests must match
 * a route and the schema of its body, commands of `quire` must exist with their options. Other blocks are parsed.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Ajv } from 'ajv';
import type { Command } from 'commander';
import { parseSync } from 'oxc-parser';
import { parseAllDocuments } from 'yaml';
import { createProgram } from '../src/cli/program.ts';
import { FileSections } from '../src/config/file-sections.ts';
import { PROXY_VARIABLES, SETTINGS } from '../src/config/settings.ts';
import { apiDescription } from '../tools/api-description.ts';

interface CodeBlock {
  /** File and line. */
  at: string;
  language: string;
  code: string;
}

const FOLDER = new URL('../docs/use/', import.meta.url);
const FILES = globSync('**/*.md', { cwd: FOLDER }).sort();
/** Tools that blocks use in pipes. Calls of all other programs are recorded, and do nothing. */
const TOOLS = ['cat', 'base64', 'sed', 'head', 'mkdir'];
/** Variables that pages set in another block, or leave to the reader. */
const VARIABLES = {
  URL: 'http://127.0.0.1:8080',
  QUIRE_URL: 'http://127.0.0.1:8080',
  QUIRE_API_KEY: 'quire-sk-1',
  ADMIN: 'Authorization: Bearer quire-sk-1',
  JSON: 'Content-Type: application/json',
  SHA256: 'a'.repeat(64),
  ...Object.fromEntries(
    ['KB', 'ORG', 'KEY', 'KEY_ID', 'POLICY', 'DOCUMENT', 'AUTH'].map((name) => [name, `${name}_1`]),
  ),
};

function readBlocks(): CodeBlock[] {
  return FILES.flatMap((file) => {
    const text = readFileSync(new URL(file, FOLDER), 'utf8');
    return [...text.matchAll(/^( *)```(\w+)\n([\s\S]*?)^\1```$/gm)].map(
      ({ 1: indent = '', 2: language = '', 3: code = '', index }) => ({
        at: `${file}:${text.slice(0, index).split('\n').length}`,
        language,
        code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      }),
    );
  });
}

const blocks = readBlocks();
const inLanguage = (...languages: string[]) => blocks.filter(({ language }) => languages.includes(language));

/**
 * Bash calls this function for every program that is not in `PATH`. It writes once, because the programs of a pipe run
 * at the same time.
 */
const RECORDER = `command_not_found_handle() { printf '%s\\0' "$@" $'\\1' >> "$CALLS"; }; cd() { :; }`;

/** Runs a block. Returns the calls of programs: name and arguments. */
function recordCalls({ at, code }: CodeBlock, folder: string): string[][] {
  const log = join(folder, 'calls');
  writeFileSync(log, '');
  const env = { ...VARIABLES, PATH: join(folder, 'bin'), CALLS: log, HOME: folder };
  try {
    const script = code.replaceAll('/etc/quire', join(folder, 'etc'));
    execFileSync('/bin/bash', ['-eo', 'pipefail', '-c', `${RECORDER}\n${script}\nwait`], {
      env,
      cwd: folder,
      stdio: 'pipe',
    });
  } catch (error) {
    assert.fail(`${at}: ${(error as { stderr?: Buffer }).stderr}`);
  }
  const records = readFileSync(log, 'utf8').split('\u0001\0').slice(0, -1);
  return records.map((record) => record.split('\0').slice(0, -1));
}

/** Links the tools that blocks use. */
function linkTools(folder: string): void {
  mkdirSync(join(folder, 'bin'));
  for (const tool of TOOLS) {
    const files = (process.env['PATH'] ?? '').split(delimiter).map((each) => join(each, tool));
    symlinkSync(files.find((file) => existsSync(file)) ?? '', join(folder, 'bin', tool));
  }
}

/** A request of curl. */
interface CurlRequest {
  method: string;
  path: string;
  body: string | null;
}

const WITH_VALUE = new Set(['-H', '-o', '-F', '-X', '-d', '--data', '--data-binary', '-u', '-w']);

/** Parses the arguments of curl; null for other addresses than the service's. */
function parseCurl(args: readonly string[]): CurlRequest | null {
  let method: string | null = null;
  let body: string | null = null;
  let isForm = false;
  let url = '';
  for (let at = 0; at < args.length; at += 1) {
    const argument = args[at] ?? '';
    if (WITH_VALUE.has(argument)) {
      at += 1;
      const value = args[at] ?? '';
      if (argument === '-X') method = value;
      if (argument === '-F') isForm = true;
      if (argument.startsWith('-d') || argument.startsWith('--data')) body = value;
    } else if (!argument.startsWith('-')) url = argument;
  }
  const { host, pathname } = new URL(url.includes('://') ? url : `http://${url}`);
  if (!/^(127\.0\.0\.1|localhost|quire)(:\d+)?$/.test(host)) return null;
  return { method: method ?? (body !== null || isForm ? 'POST' : 'GET'), path: decodeURI(pathname), body };
}

/** Finds the operation of a request in the API description. */
// biome-ignore lint/suspicious/noExplicitAny: the API description has no static type.
function findOperation(api: any, { method, path }: CurlRequest): any {
  const matches = Object.keys(api.paths)
    .filter((template) => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path))
    .sort((a, b) => a.split('{').length - b.split('{').length);
  return matches.map((template) => api.paths[template][method.toLowerCase()]).find(Boolean);
}

/** Finds the command that words name, and rejects unknown options and missing arguments. */
async function checkCommand(at: string, words: readonly string[]): Promise<void> {
  const program = await createProgram(null);
  const leaves = (command: Command): Command[] =>
    command.commands.length > 0 ? command.commands.flatMap(leaves) : [command];
  let ran = false;
  for (const leaf of leaves(program)) {
    leaf.action(() => {
      ran = true;
    });
  }
  try {
    await program.parseAsync(words, { from: 'user' });
  } catch (error) {
    assert.fail(`${at}: quire ${words.join(' ')}: ${(error as Error).message}`);
  }
  assert.ok(ran, `${at}: quire ${words.join(' ')} names no command`);
}

describe('code blocks of the guide', () => {
  let folder: string;
  // biome-ignore lint/suspicious/noExplicitAny: the API description has no static type.
  let api: any;
  const calls: { at: string; call: string[] }[] = [];
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'quire-guide-'));
    linkTools(folder);
    // Blocks write settings below /etc/quire.
    mkdirSync(join(folder, 'etc'));
    api = JSON.parse(await apiDescription());
    for (const block of inLanguage('sh', 'bash')) {
      calls.push(...recordCalls(block, folder).map((call) => ({ at: block.at, call })));
    }
  });
  after(() => rmSync(folder, { recursive: true }));

  it('name a language, so that each is checked', () => {
    const known = ['sh', 'bash', 'json', 'jsonl', 'yaml', 'js', 'python', 'diff', 'promql', 'text'];
    assert.deepEqual(
      blocks.filter(({ language }) => !known.includes(language)).map(({ at }) => at),
      [],
    );
  });

  it('send requests that the service has, with bodies of their schemas', () => {
    const ajv = new Ajv({ strict: false, validateFormats: false });
    ajv.addSchema({ $id: 'api', components: api.components });
    let requests = 0;
    for (const { at, call } of calls.filter(({ call: [program] }) => program === 'curl')) {
      const request = parseCurl(call.slice(1));
      if (request === null) continue;
      const operation = findOperation(api, request);
      assert.ok(operation !== undefined, `${at}: no route ${request.method} ${request.path}`);
      requests += 1;
      const schema = operation.requestBody?.content?.['application/json']?.schema;
      if (request.body === null || schema === undefined) continue;
      const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"api#/components'));
      const isValid = ajv.validate(absolute, JSON.parse(request.body));
      assert.ok(isValid, `${at}: ${request.method} ${request.path}: ${ajv.errorsText()}`);
    }
    assert.ok(requests > 30, `${requests} requests`);
  });

  it('call commands of quire that exist, with their options', async () => {
    const commands = calls
      .filter(({ call }) => call[0] === 'quire' || (call[0] === 'npx' && call[1] === 'quire'))
      .map(({ at, call }) => ({ at, words: call.slice(call[0] === 'quire' ? 1 : 2) }));
    assert.ok(commands.length > 20, `${commands.length} commands`);
    for (const { at, words } of commands) await checkCommand(at, words);
  });

  it('call npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
    for (const { at, call } of calls) {
      if (call[0] === 'npm' && call[1] === 'run')
        assert.ok(call.at(-1) === 'dev' || scripts[call[2] ?? ''], `${at}: ${call}`);
    }
  });

  it('set variables that are settings', () => {
    const variables = new Set<string>([...Object.values(SETTINGS).map(({ env }) => env), ...PROXY_VARIABLES]);
    const ofClients = new Set(['QUIRE_URL', 'QUIRE_API_KEY', 'QUIRE_CONFIG', 'QUIRE_TEST_PYTHON']);
    for (const { at, code } of blocks) {
      for (const [name = ''] of code.matchAll(/\bQUIRE_[A-Z_]+\b/g)) {
        const base = name.replace(/_FILE$/, '');
        assert.ok(variables.has(base) || variables.has(name) || ofClients.has(name), `${at}: ${name} is no setting`);
      }
    }
  });

  it('are valid JSON', () => {
    for (const { at, code } of inLanguage('json')) assert.doesNotThrow(() => JSON.parse(code), at);
    for (const { at, code } of inLanguage('jsonl')) {
      for (const line of code.trim().split('\n')) assert.doesNotThrow(() => JSON.parse(line), at);
    }
  });

  it('are valid YAML, with keys of quire.yaml where they begin with one', () => {
    const keys = new Set<string | null>([
      ...Object.values(SETTINGS).map(({ file }) => file),
      ...Object.keys(FileSections.properties),
    ]);
    for (const { at, code } of inLanguage('yaml')) {
      for (const document of parseAllDocuments(code)) assert.deepEqual(document.errors, [], at);
      if (!/^# quire\.yaml|^models:/.test(code)) continue;
      const names = [...code.matchAll(/^(\w+):/gm)].map(([, name = '']) => name);
      assert.deepEqual(
        names.filter((name) => !keys.has(name)),
        [],
        at,
      );
    }
  });

  it('are valid JavaScript', () => {
    for (const { at, code } of inLanguage('js')) {
      assert.deepEqual(parseSync('block.mjs', code).errors, [], at);
    }
  });
});

/** Follows the section Upgrade of docs/use/operations.md literally: from the previous version to this one, and back. */
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { encodeForm, sendForm } from './forms.ts';
import { addMigrations, extractPrevious, installPackages, PREVIOUS_REVISION } from './other-versions.ts';
import { newDataDir, type Service, startService, useEmbeddedDatabases } from './spawned-service.ts';

useEmbeddedDatabases();

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const run = promisify(execFile);
const SECTION = /^## Upgrade\n[\s\S]*?(?=^## |$(?![\s\S]))/m;
const [guide = ''] = SECTION.exec(readFileSync(join(ROOT, 'docs/use/operations.md'), 'utf8')) ?? [];
const BLOCKS = [...guide.matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm)].map(([, block = '']) => block);

const skip = PREVIOUS_REVISION === null && 'this clone has neither tags nor history';
describe('the guide of upgrades', { skip }, () => {
  let folder: string;
  let clone: string;
  let service: Service | undefined;
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args], { cwd });
  const commitAll = (origin: string, message: string) => {
    git(origin, 'add', '--all', '--force');
    git(origin, 'commit', '--quiet', '--no-verify', '--message', message);
  };

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-upgrade-'));
    const origin = join(folder, 'origin');
    clone = join(folder, 'clone');
    extractPrevious(origin);
    git(origin, 'init', '--quiet', '--initial-branch', 'main');
    commitAll(origin, 'previous');
    git(folder, 'clone', '--quiet', origin, clone);
    for (const name of readdirSync(origin)) if (name !== '.git') rmSync(join(origin, name), { recursive: true });
    execFileSync('git', ['checkout-index', '--all', `--prefix=${origin}/`], { cwd: ROOT });
    addMigrations(origin, { '0900_drop-things': 'create table "things" ("id" text); drop table "things"' });
    commitAll(origin, 'this version');
    mkdirSync(join(folder, 'bin'));
    const program = (name: string, text: string) => {
      writeFileSync(join(folder, 'bin', name), `#!/bin/bash\n${text}\n`);
      chmodSync(join(folder, 'bin', name), 0o755);
    };
    program('npx', `shift\nexec "${process.execPath}" "${clone}/src/start.js" "$@"`);
    // `npm ci` links packages that are installed already; the test starts the service itself.
    const previous = join(folder, 'previous');
    extractPrevious(previous);
    installPackages(previous);
    const locked = `cmp --silent package-lock.json "${previous}/package-lock.json"`;
    const link = `ln -sfn "$(${locked} && echo "${previous}" || echo "${ROOT}")/node_modules" node_modules`;
    program('npm', `[ "$1" != ci ] || ${link}`);
    execFileSync(join(folder, 'bin/npm'), ['ci'], { cwd: clone });
  });
  after(async () => {
    await service?.kill();
    rmSync(folder, { recursive: true });
  });

  const listFiles = async ({ url, key }: Service): Promise<string[]> => {
    const response = await fetch(`${url}/v1/files`, { headers: { authorization: `Bearer ${key}` } });
    const { data } = (await response.json()) as { data: { filename: string }[] };
    return data.map(({ filename }) => filename).sort();
  };
  const upload = async ({ url, key }: Service, name: string) => {
    const parts = [
      { name: 'purpose', content: 'knowledge-base' },
      { name: 'file', filename: name, content: Buffer.from(name) },
    ];
    assert.equal((await sendForm(`${url}/v1/files`, encodeForm(parts), { key })).status, 200);
  };

  it('leads to this version with all data, and back to the state before it', async () => {
    const [create = '', list = '', install = '', back = '', restore = ''] = BLOCKS;
    const env = { QUIRE_BACKUP_URL: join(folder, 'backup') };
    const dataDir = newDataDir();
    const start = async (options: { dataDir: string }) => {
      service = await startService({ ...options, env, root: clone });
      return service;
    };
    const follow = async (block: string) => {
      const PATH = `${join(folder, 'bin')}:${process.env['PATH']}`;
      const variables = { PATH, QUIRE_DATA_DIR: dataDir, ...env };
      return (await run('/bin/bash', ['-e', '-c', block], { cwd: clone, env: variables })).stdout;
    };

    let running = await start({ dataDir });
    await upload(running, 'early.txt');
    await follow(create);
    await upload(running, 'before-the-stop.txt');
    await running.stop();
    const [time = ''] = (await follow(list)).match(/\S+Z(?=\n$)/) ?? [];
    await follow(install);
    running = await start({ dataDir });
    assert.match(running.stderr(), /migration applied/);
    assert.deepEqual(await listFiles(running), ['before-the-stop.txt', 'early.txt']);
    await upload(running, 'late.txt');
    await running.stop();

    await follow(back.replace('VERSION', 'HEAD~1'));
    await assert.rejects(start({ dataDir }), /The database was migrated by a newer version of Quire/);
    await follow(restore.replace(/--at \S+/, `--at ${time}`));
    running = await start({ dataDir: join(clone, 'before') });
    assert.deepEqual(await listFiles(running), ['before-the-stop.txt', 'early.txt']);
    await running.stop();
  });
});

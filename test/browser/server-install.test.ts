/**
 * The server install of docs/use/install.md, in a copy of the checkout with the packages that `npm ci` has installed.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { withDeadline } from '../deadline.ts';
import { EMAIL, LAUNCH, PASSWORD, SKIP_WITHOUT_CONSOLE } from './console-page.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
/** Commands of the guide after `npm ci`. */
const COMMANDS = (
  /For a server[\s\S]*?```sh\nnpm ci\n([\s\S]*?)```/.exec(
    readFileSync(join(ROOT, 'docs/use/install.md'), 'utf8'),
  )?.[1] ?? ''
)
  .trim()
  .split('\n');
/** A start beside other processes. */
const START_SECONDS = 120;

describe('the server install of the guide', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'quire-server-'));
    for (const file of execFileSync('git', ['ls-files', '-z'], { cwd: ROOT, encoding: 'utf8' }).split('\0')) {
      if (file !== '' && existsSync(join(ROOT, file)))
        cpSync(join(ROOT, file), join(folder, file), { recursive: true });
    }
    // Hard links: the commands only delete.
    for (const path of ['node_modules', 'console/node_modules', 'console/dist']) {
      if (existsSync(join(ROOT, path))) execFileSync('cp', ['-al', join(ROOT, path), join(folder, path)]);
    }
  });
  after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));

  it('has a console, whose setup link creates the first account', async () => {
    assert.deepEqual([COMMANDS.length, COMMANDS.at(-1)], [3, 'npm start']);
    for (const command of COMMANDS.slice(0, -1)) execFileSync('sh', ['-c', command], { cwd: folder, stdio: 'pipe' });
    assert.equal(existsSync(join(folder, 'node_modules/@biomejs/biome')), false, 'development packages are removed');
    const env = { ...process.env, QUIRE_DATA_DIR: join(folder, 'data'), QUIRE_PORT: '0', QUIRE_MODELS_PULL: 'never' };
    const service = spawn('npm', ['start'], { cwd: folder, env, detached: true, stdio: ['ignore', 'pipe', 'inherit'] });
    const ended = once(service, 'exit');
    let output = '';
    const isReady = (async () => {
      for await (const text of service.stdout) {
        output += String(text);
        const link = /http\S+\/join#\S+/.exec(output)?.[0];
        if (link !== undefined) return link;
      }
      throw new Error(`no setup link in: ${output}`);
    })();
    const browser = await chromium.launch(LAUNCH);
    try {
      const link = await withDeadline('the setup link', isReady, START_SECONDS);
      const page = await browser.newPage();
      await page.goto(new URL('/', link).href);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.goto(link);
      await page.getByLabel('Email').fill(EMAIL);
      await page.getByLabel('Name').fill('Ada');
      await page.getByLabel('Password').first().fill(PASSWORD);
      await page.getByRole('button', { name: 'Create account' }).click();
      await page.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
    } finally {
      await browser.close();
      if (service.pid !== undefined) process.kill(-service.pid, 'SIGTERM');
      await ended;
    }
  });
});

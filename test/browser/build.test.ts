import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { batchLine, chatLine } from '../batches.ts';
import { type ConsoleTest, chooseAction, inspectPage, SKIP_WITHOUT_CONSOLE, startConsole } from './console-page.ts';

const XSS = '<img src=x onerror=alert(1)>';

describe('the build pages of the console', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let page: Page;
  let folder: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'quire-build-'));
    test = await startConsole();
    page = test.page;
    page.setDefaultTimeout(15_000);
    await page.emulateMedia({ reducedMotion: 'reduce' });
  });
  after(async () => {
    await test?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const inspect = async (state: string) => assert.deepEqual(await inspectPage(page), [], state);
  const writeLines = (name: string, lines: readonly string[]): string => {
    const file = join(folder, name);
    writeFileSync(file, lines.map((line) => `${line}\n`).join(''));
    return file;
  };
  const dialog = () => page.getByRole('dialog');

  it('names the invalid lines of a batch before the upload', async () => {
    const file = writeLines('invalid.jsonl', [
      chatLine('a', 'Hi'),
      chatLine('a', 'Hi'),
      XSS,
      chatLine('c', 'Hi', { model: XSS }),
    ]);
    await test.open('/batches');
    await inspect('batches-empty');
    await page.getByRole('button', { name: 'Create batch' }).first().click();
    await dialog().locator('input[type=file]').setInputFiles(file);
    await dialog().getByText('2 lines would be rejected').waitFor();
    const rows = await dialog().getByRole('row').allTextContents();
    assert.deepEqual(rows.slice(1), [
      '2Another line has this custom_id. custom_id',
      '3The line is not a valid JSON object. ',
    ]);
    await dialog().getByText('· not available').waitFor();
    await dialog().getByRole('button', { name: 'Choose another file' }).click();
    const unknown = writeLines('unknown.jsonl', [chatLine('a', 'Hi'), chatLine('b', 'Hi', { model: 'no-"such' })]);
    await dialog().locator('input[type=file]').setInputFiles(unknown);
    // A disabled button has a reason.
    await dialog().getByRole('alert').getByText('models that this service does not have: no-"such').waitFor();
    assert.equal(await dialog().getByText('All lines are valid.').count(), 0);
    assert.equal(await dialog().getByRole('button', { name: 'Create', exact: true }).isDisabled(), true);
    await inspect('batch-check');
    assert.deepEqual((await test.call<{ data: [] }>('GET', '/v1/files')).data, []);
  });

  it('runs a batch to its end, shows requests and results, and downloads them', async () => {
    const lines = Array.from({ length: 30 }, (_, i) =>
      chatLine(`line-${i + 1}`, `What is ${i} + 1?`, { max_tokens: 8 }),
    );
    const wrong = batchLine('wrong', '/v1/chat/completions', { model: 'general-8b', messages: XSS });
    await dialog().getByRole('button', { name: 'Choose another file' }).click();
    await dialog()
      .locator('input[type=file]')
      .setInputFiles(writeLines('lines.jsonl', [wrong, ...lines]));
    await dialog().getByText('All lines are valid.').waitFor();
    await dialog().getByRole('button', { name: 'Create', exact: true }).click();
    await page.waitForURL(/\/batches\/batch_/);
    await page.getByText('Completed').first().waitFor({ timeout: 60_000 });
    await page.getByRole('button', { name: 'Show line-1', exact: true }).waitFor();
    await page.getByText('What is 0 + 1?').waitFor();
    assert.equal(await page.getByRole('row').count(), 26);
    await page.getByRole('button', { name: 'Load more' }).click();
    await page.getByText('What is 29 + 1?').waitFor();
    // The head of the page must not cover a part of a button.
    await page.evaluate('scrollTo(0, 0)');
    await inspect('batch-results');
    await page.getByRole('button', { name: 'Show line-30' }).click();
    await dialog().getByText('"finish_reason"').waitFor();
    await inspect('batch-result');
    await page.keyboard.press('Escape');
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download results' }).click(),
    ]);
    assert.equal(
      readFileSync(await download.path(), 'utf8')
        .trim()
        .split('\n').length,
      30,
    );
  });

  it('shows failed lines by a link and offers them as a new file', async () => {
    await page.getByRole('tab', { name: 'Errors' }).click();
    await page.waitForURL(/show=errors/);
    await page.reload();
    await page.getByRole('button', { name: 'Show wrong' }).waitFor();
    await page.getByText(XSS).waitFor();
    await page.getByRole('button', { name: 'Retry failed requests' }).click();
    await dialog().getByText('All lines are valid.').waitFor();
    await dialog()
      .getByText(/-retry\.jsonl/)
      .waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('main').getByRole('link', { name: 'Batches' }).click();
    await page.getByText('1 failed').waitFor();
    await inspect('batches');
  });

  const chooseInHead = async (name: RegExp) => {
    await page.locator('.page-head').getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name }).click();
  };
  const statusOf = async (key: string) =>
    (await fetch(`${test.service.url}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status;
  /** Reads the secret that the dialog shows, and closes the dialog. */
  const takeSecret = async (): Promise<string> => {
    const secret =
      (await dialog()
        .getByText(/^quire-sk-/)
        .textContent()) ?? '';
    await dialog().getByText('A first request:').waitFor();
    await dialog().getByRole('button', { name: 'Close' }).last().click();
    return secret;
  };

  it('creates a key with limits and a budget, finds it by a search in the address, and changes it', async () => {
    await test.open('/keys?create=true');
    await dialog().getByLabel('Name').fill(`Support ${XSS}`);
    await dialog().getByLabel('Tokens per minute').fill('5000');
    await dialog().getByLabel('Budget (US$)').fill('2.5');
    await dialog().getByLabel('Last day').fill('2031-01-31');
    await inspect('key-create');
    await dialog().getByRole('button', { name: 'Create', exact: true }).click();
    const secret = await takeSecret();
    assert.equal(await statusOf(secret), 200);
    await test.call('POST', '/v1/admin/keys', { name: 'another' });
    await page.reload();
    await page.getByRole('searchbox').fill('support');
    await page.waitForURL(/q=support/);
    await page.reload();
    await page.getByRole('link', { name: 'Support' }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'another' }).count(), 0);
    await inspect('keys');
    await page.getByRole('link', { name: 'Support' }).click();
    await page.getByText('$2.50 · per month').waitFor();
    await page.getByRole('button', { name: 'Edit' }).click();
    await dialog().getByLabel('Tokens per minute').fill('700');
    await dialog().getByLabel('Budget (US$)').fill('');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await page.getByText('Unlimited', { exact: true }).waitFor();
    await page.getByText('700', { exact: true }).waitFor();
    await page.getByText('Jan 31, 2031').waitFor();
  });

  it('rotates a key with an overlap, shows its usage, and revokes it', async () => {
    await chooseInHead(/^Rotate/);
    await dialog().getByRole('button', { name: 'Rotate', exact: true }).click();
    const secret = await takeSecret();
    assert.equal(await statusOf(secret), 200);
    const headers = { authorization: `Bearer ${secret}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'general-8b', max_tokens: 4, messages: [{ role: 'user', content: 'Hi' }] });
    await fetch(`${test.service.url}/v1/chat/completions`, { method: 'POST', headers, body });
    await page.reload();
    await page.locator('main .uplot').waitFor();
    assert.ok(!(await page.content()).includes(secret));
    await inspect('key');
    await chooseInHead(/^Revoke/);
    await dialog().getByRole('button', { name: 'Revoke', exact: true }).click();
    await page.getByText('revoked').waitFor();
    assert.equal(await statusOf(secret), 401);
    assert.equal(await page.getByRole('button', { name: 'Edit' }).count(), 0);
  });

  it('creates a policy with topics and shows scores and matches in a dry run', async () => {
    await test.open('/guardrails?create=true');
    await dialog().getByLabel('Name').fill(`Projects ${XSS}`);
    for (const [index, topic] of ['falcon', XSS, 'owl'].entries()) {
      await dialog().getByRole('button', { name: 'Add topic' }).click();
      await dialog()
        .getByLabel(`Topic ${index + 1}`, { exact: true })
        .fill(topic);
    }
    await dialog().getByRole('combobox', { name: 'Action of topic 3' }).click();
    await page.getByRole('option', { name: 'Warn' }).click();
    await inspect('policy-create');
    await dialog().getByRole('button', { name: 'Create' }).click();
    await page.getByText('applies now').waitFor();
    await chooseAction(page, /^Dry run/);
    await dialog().getByRole('textbox').fill('An owl and a falcon: I will kill you, you idiot.');
    await dialog().getByRole('button', { name: 'Check' }).click();
    await dialog().getByText('blocked', { exact: true }).waitFor();
    assert.deepEqual((await dialog().locator('mark').allTextContents()).toSorted(), ['falcon', 'owl']);
    await dialog().getByRole('progressbar', { name: 'Violence' }).waitFor();
    await inspect('policy-dry-run');
    await page.keyboard.press('Escape');
  });

  it('lists a blocked text without the text, and turns the policy off in the list', async () => {
    const secret = 'my unique words about a falcon';
    const ask = async () => {
      const body = { model: 'general-8b', max_tokens: 4, messages: [{ role: 'user', content: secret }] };
      return page.evaluate(async (content) => {
        const headers = { 'content-type': 'application/json' };
        return (await fetch('/v1/chat/completions', { method: 'POST', headers, body: content })).status;
      }, JSON.stringify(body));
    };
    assert.equal(await ask(), 400);
    await page.getByRole('tab', { name: 'Blocked texts' }).click();
    await page.getByRole('cell', { name: "topic 'falcon' (block)" }).waitFor();
    await page.getByRole('cell', { name: `Projects ${XSS}` }).waitFor();
    assert.ok(!(await page.content()).includes('unique words'));
    await inspect('blocks');
    await page.reload();
    await page.getByRole('cell', { name: 'general-8b' }).waitFor();
    await page.getByRole('tab', { name: 'Policies' }).click();
    await page.getByRole('switch', { name: 'Enabled' }).click({ force: true });
    await page.getByText('applies now').waitFor({ state: 'detached' });
    await inspect('policies');
    await chooseAction(page, /^Delete/);
    await dialog().getByText('No key uses this policy').waitFor();
    await dialog().getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('No policies yet.').waitFor();
  });

  it('opens pages, finds a key on the server and switches the theme by the keyboard alone', async () => {
    await test.open('/');
    await page.keyboard.press('?');
    await dialog().getByRole('cell', { name: 'This overview' }).waitFor();
    await page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'detached' });
    const type = async (text: string) => {
      await page.keyboard.press('Control+k');
      await dialog().locator('input:focus').waitFor();
      await page.keyboard.type(text);
    };
    const selected = (name: string | RegExp) => dialog().getByRole('option', { name, selected: true });
    await type('guardr');
    await selected('Guardrails').waitFor();
    await page.keyboard.press('ArrowDown');
    await selected('New guardrail policy').waitFor();
    await page.keyboard.press('ArrowUp');
    await selected('Guardrails').waitFor();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Guardrails' }).waitFor();
    await type('anoth');
    await selected(/another/).waitFor();
    await inspect('palette');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'another' }).waitFor();
    await page.locator(':root[data-mantine-color-scheme=light]').waitFor();
    await type('light and dark');
    await selected('Switch between light and dark').waitFor();
    await page.keyboard.press('Enter');
    await page.locator(':root[data-mantine-color-scheme=dark]').waitFor();
  });

  it('runs no script of a text and calls no other host', () => {
    assert.deepEqual([test.errors, [...test.origins]], [[], [test.service.url]]);
  });
});

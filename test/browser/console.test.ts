import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import {
  accessibilityViolations,
  type ConsoleTest,
  chooseAction,
  EMAIL,
  PASSWORD,
  SKIP_WITHOUT_CONSOLE,
  startConsole,
} from './console-page.ts';

const MANUAL =
  '# Harbour manual\n\n## Opening hours\n\nThe office is open from 8:00 to 18:00 on weekdays.\n\n## Fees\n\nA berth for a boat of up to 10 metres costs 24 euros per night.\n';
const NAVIGATION = readFileSync(new URL('../../console/src/shell/navigation.ts', import.meta.url), 'utf8');
/** Pages of an operator. */
const PAGES = [...NAVIGATION.matchAll(/to: '(.+?)'/g)].map(([, path = '']) => path);

describe('the console in Chromium', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let page: Page;
  let folder: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'quire-browser-'));
    test = await startConsole();
    page = test.page;
  });
  after(async () => {
    await test?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const open = (path: string, opened = page) => test.open(path, opened);

  it('the link of the first start creates the first account, and its token leaves the address', async () => {
    assert.equal(page.url(), `${test.service.url}/start`);
    await page.goBack();
    assert.ok(!page.url().includes('#'));
  });

  it('leads from an upload to an answer that cites the uploaded document', async () => {
    writeFileSync(join(folder, 'manual.md'), MANUAL);
    await open('/knowledge-bases');
    await page.getByRole('button', { name: 'Create knowledge base' }).first().click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Harbour');
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.locator('input[type=file]').setInputFiles(join(folder, 'manual.md'));
    await page.getByRole('cell', { name: 'completed' }).waitFor({ timeout: 120_000 });
    await page.getByRole('link', { name: 'Ask in the playground' }).click();
    await page.getByLabel('Ask something').fill('What does a berth cost per night?');
    await page.keyboard.press('Enter');
    await page.getByText('Sources').waitFor({ timeout: 120_000 });
    assert.match((await page.locator('mark').first().textContent()) ?? '', /24 euros/);
    await page.getByRole('button', { name: 'manual.md' }).click();
    await page.locator('mark.passage', { hasText: '24 euros' }).waitFor();
  });

  it('shows a new key once, and the key works', async () => {
    await open('/keys');
    await page.getByRole('button', { name: 'Create key' }).click();
    await page.getByLabel('Name').fill('support bot');
    await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click();
    const secret = (await page.getByText(/^quire-sk-/).textContent()) ?? '';
    const response = await fetch(`${test.service.url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } });
    assert.equal(response.status, 200);
    await page.getByRole('button', { name: 'Close' }).last().click();
    await page.getByText('support bot').waitFor();
    assert.ok(!(await page.content()).includes(secret));
  });

  it('checks a text against a policy and marks the matches', async () => {
    await open('/guardrails');
    await page.getByRole('button', { name: 'Create policy' }).first().click();
    await page.getByLabel('Name').fill('Competitors');
    await page.getByRole('button', { name: 'Add topic' }).click();
    await page.getByLabel('Topic 1', { exact: true }).fill('acme corp');
    await page.getByRole('dialog').getByRole('switch', { name: 'Enabled' }).uncheck({ force: true });
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await chooseAction(page, /^Dry run/);
    await page.getByRole('dialog').getByRole('textbox').fill('We met at Acme Corp.');
    await page.getByRole('button', { name: 'Check' }).click();
    await page.locator('mark', { hasText: 'acme corp' }).waitFor();
  });

  it('shows the message and the request id of an error', async () => {
    await open('/settings');
    await page.getByLabel('Current password').fill('wrong');
    await page.getByLabel('New password').fill('another password');
    await page.getByRole('button', { name: 'Change password' }).click();
    const alert = page.getByRole('alert');
    await alert.getByText("'current_password' is wrong.").waitFor();
    assert.match((await alert.textContent()) ?? '', /req_/);
  });

  it('shows user texts as text', async () => {
    const name = '<img src=x onerror=alert(1)>';
    await test.call('POST', '/v1/knowledge-bases', { name, description: name });
    await open('/knowledge-bases');
    await page.getByRole('link', { name }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    assert.equal(await page.locator('main img[src=x]').count(), 0);
  });

  for (const scheme of ['light', 'dark'] as const) {
    it(`has no accessibility violation on any page (${scheme})`, async () => {
      const found: string[] = [];
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
      for (const path of PAGES) {
        await open(path);
        found.push(...(await accessibilityViolations(page)).map((violation) => `${path} ${violation}`));
      }
      assert.deepEqual(found, []);
    });
  }

  it('a viewer reads, and gets no button that changes anything', async () => {
    const viewer = await test.invite('viewer', 'vera@example.com');
    await open('/knowledge-bases', viewer);
    await viewer.getByText('Harbour').waitFor();
    assert.equal(await viewer.getByRole('button', { name: 'Create knowledge base' }).count(), 0);
    await viewer.goto(`${test.service.url}/keys`);
    await viewer.getByText('Your role may not see this page.').waitFor();
    assert.equal(await viewer.getByRole('link', { name: 'API keys' }).count(), 0);
    await viewer.context().close();
  });

  it('shows the data of one organization only, also after a switch', async () => {
    const other = await test.call<{ id: string }>('POST', '/v1/admin/organizations', { name: 'Shipyard' });
    await open('/knowledge-bases');
    await page.getByText('Harbour').waitFor();
    await page.reload();
    await page.getByRole('button', { name: /^Organization: / }).click();
    await page.getByRole('menuitem', { name: 'Shipyard' }).click();
    await page.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
    await page.getByRole('link', { name: 'Knowledge bases' }).first().click();
    await page.getByText('No knowledge bases yet').waitFor();
    const { data } = await test.call<{ data: { id: string }[] }>('GET', '/v1/admin/organizations');
    const first = data.find(({ id }) => id !== other.id);
    await test.call('PATCH', '/v1/session', { organization_id: first?.id });
  });

  it('says that the service cannot be reached, and goes on when it can', async () => {
    await open('/files');
    await page.context().setOffline(true);
    await page.getByRole('link', { name: 'Guardrails' }).click();
    const alert = page.getByRole('alert');
    await alert.getByText('The service cannot be reached.').waitFor();
    await page.context().setOffline(false);
    await alert.getByRole('button', { name: 'Try again' }).click();
    await page.getByText('Competitors').waitFor();
  });

  it('keeps the entries of a form whose session has ended', async () => {
    await open('/knowledge-bases');
    await page.getByRole('button', { name: 'Create knowledge base' }).first().click();
    await page.getByRole('textbox', { name: 'Name' }).fill('Long and typed with care');
    const cookies = await page.context().cookies();
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('alert').getByText('Your session has ended.').waitFor();
    await page.context().addCookies(cookies);
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Long and typed with care' }).waitFor();
  });

  it('a session that ends in the middle of the work leads to the sign-in and back', async () => {
    await open('/files');
    await page.context().clearCookies();
    await page.getByRole('link', { name: 'Guardrails' }).click();
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    await page.getByLabel('Email').fill(EMAIL);
    await page.getByLabel('Password', { exact: false }).first().fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Guardrails' }).waitFor();
  });

  it('speaks the language of the browser, and changes it in the settings', async () => {
    const german = await test.newPage({ locale: 'de-DE' });
    await german.goto(`${test.service.url}/sign-in`);
    await german.getByRole('button', { name: 'Anmelden' }).waitFor();
    await german.context().addCookies(await page.context().cookies());
    await open('/settings', german);
    await german.getByRole('combobox', { name: 'Sprache' }).click();
    await german.getByRole('option', { name: 'English' }).click();
    await german.getByRole('heading', { level: 1, name: 'Settings' }).waitFor();
    await german.context().close();
  });

  it('a link to another site after the sign-in is ignored', async () => {
    await page.goto(`${test.service.url}/sign-in?from=//evil.example`);
    await page.getByLabel('Email').fill(EMAIL);
    await page.getByLabel('Password', { exact: false }).first().fill(PASSWORD);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
    assert.equal(page.url(), `${test.service.url}/start`);
  });

  it('stores no credential in the browser, calls no other host, and throws no error', async () => {
    const stored = String(
      await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])'),
    );
    assert.ok(!/quire-sk-|quire_session|correct horse|@/.test(stored), stored);
    assert.deepEqual([...test.origins], [test.service.url]);
    assert.deepEqual(test.errors, []);
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { until } from '../deadline.ts';
import { CAT } from '../fixtures/cat-model.ts';
import { sendFile, useHub } from '../fixtures/hub-server.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { TestServer } from '../fixtures/upstream-server.ts';
import {
  accessibilityViolations,
  type ConsoleTest,
  EMAIL,
  inspectPage,
  PASSWORD,
  SKIP_WITHOUT_CONSOLE,
  startConsole,
} from './console-page.ts';

/** The pages of this area, with the search parameters that show most of each. */
const PAGES = [
  '/overview?period=1h',
  '/usage?days=7&group=key',
  '/models',
  '/models?tab=engines',
  '/cache?period=1h',
  '/settings/instance',
];
const HUB_PATH = '/someone/models/resolve/main/cat.gguf';
const CAT_WORD = 'hf:someone/models/cat.gguf';
const SECRET = 'sEcr3t-of-the-upstream';

interface Session {
  organization: { id: string };
}

describe('operation in the console', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  const hub = useHub();
  let upstream: TestServer;
  let test: ConsoleTest;
  let page: Page;

  before(async () => {
    upstream = await startModelServer();
    const config = `models:
  up:
    base_urls: [${upstream.baseUrl}]
    api_key: ${SECRET}
  gone:
    base_urls: [http://127.0.0.1:1/v1]
batch_concurrency: 3
`;
    test = await startConsole({ config, env: { QUIRE_HUB_URL: hub.url, QUIRE_HUB_TOKEN: SECRET } });
    page = test.page;
    const { organization } = await test.call<Session>('GET', '/v1/session');
    const created = { name: '=HYPERLINK("x")', scopes: ['inference'], organization_id: organization.id };
    const { key } = await test.call<{ key: string }>('POST', '/v1/admin/keys', created);
    for (const secret of [key, test.service.key]) {
      for (const model of ['up', 'up', 'gone']) await chat(secret, model);
    }
  });
  after(async () => {
    await test?.close();
    await upstream?.close();
  });

  const signIn = async (opened: Page, submit = 'Sign in', password = 'Password', email = 'Email') => {
    await opened.goto(`${test.service.url}/sign-in`);
    await opened.getByLabel(email).fill(EMAIL);
    await opened.getByRole('textbox', { name: password }).fill(PASSWORD);
    await opened.getByRole('button', { name: submit }).click();
    await opened.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
  };
  const chat = async (key: string, model: string) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const body = JSON.stringify({ model, stream: true, max_tokens: 4, messages: [{ role: 'user', content: 'Hi' }] });
    await (await fetch(`${test.service.url}/v1/chat/completions`, { method: 'POST', headers, body })).text();
  };

  it('shows the figures of real requests, and those of one model by its link', async () => {
    await test.open('/overview?period=1h');
    await page.getByRole('button', { name: 'up', exact: true }).click();
    await page.waitForURL(/model=up/);
    const requests = page.locator('main').getByText('Requests', { exact: true }).first().locator('..');
    await requests.getByText('4', { exact: true }).waitFor();
    await page.getByText('Show as a table').first().click();
    // The requests may lie in two minutes, each with a row.
    const rows = page.getByRole('table', { name: 'Requests and errors' }).getByRole('row');
    await until(async () => {
      const cells = await rows.evaluateAll((all) => all.map((row) => row.querySelectorAll('td')[1]?.textContent ?? ''));
      return cells.reduce((sum, cell) => sum + Number(cell), 0) === 4;
    });
  });

  it('shows an upstream that does not answer as down, with its error', async () => {
    await test.open('/models?tab=engines');
    const row = page.getByRole('row', { name: /gone/ });
    await row.getByText('Down', { exact: true }).waitFor();
    assert.match((await row.textContent()) ?? '', /ECONNREFUSED|refused|does not/);
    await page
      .getByRole('row', { name: /\bup\b.*bigram|127\.0\.0\.1/ })
      .first()
      .waitFor();
  });

  it('compares keys by name and exports them without formulas', async () => {
    await test.open('/usage?days=7&group=key');
    await page.getByRole('cell', { name: '=HYPERLINK("x")' }).waitFor();
    page.setDefaultTimeout(10_000);
    await page.getByRole('combobox', { name: 'Compare keys' }).click();
    await page.getByRole('option', { name: '=HYPERLINK("x")' }).click();
    await page.waitForURL(/keys=key_/);
    const link = await page.getByRole('link', { name: 'Download CSV' }).getAttribute('href');
    const csv = await page.evaluate(async (href) => (await fetch(href)).text(), link ?? '');
    const [header, ...rows] = csv.trim().split('\r\n');
    assert.ok(header?.endsWith(',key_name'));
    assert.equal(rows.length, 1);
    assert.ok(rows[0]?.endsWith(`,"'=HYPERLINK(""x"")"`), rows[0]);
  });

  it('pulls a model with live progress, cancels it, and resumes it', async () => {
    hub.files.set(HUB_PATH, CAT);
    hub.acts.push((request, response) => {
      if (request.url !== HUB_PATH) return false;
      response.writeHead(200, { etag: '"half"', 'content-length': CAT.length });
      response.write(CAT.subarray(0, CAT.length / 2));
      return true;
    });
    await test.open('/models?tab=catalogue');
    await page.getByLabel('Model to pull').fill(CAT_WORD);
    await page.getByRole('button', { name: 'Pull', exact: true }).first().click();
    const bar = page.locator('main').getByRole('progressbar').first();
    await page.waitForFunction(
      (element) => Number(element?.getAttribute('aria-valuenow')) > 20,
      await bar.elementHandle(),
    );
    const card = page.getByRole('article', { name: 'cat', exact: true });
    await card.getByText(/^[\d.]+ \S+ of [\d.]+ \S+/).waitFor();
    assert.deepEqual(await inspectPage(page), []);
    await card.getByRole('button', { name: 'Cancel: cat' }).click();
    await card.getByText('Cancelled', { exact: true }).waitFor();
    hub.acts.length = 0;
    hub.acts.push((request, response) => {
      if (request.url !== HUB_PATH) return false;
      sendFile(request, response, CAT);
      return true;
    });
    await card.getByRole('button', { name: 'Resume: cat' }).click();
    await card.getByText('Not bound to a model id.').waitFor({ timeout: 60_000 });
  });

  it('binds a pulled model, shows its memory, unbinds and deletes it', async () => {
    await test.open('/models?tab=catalogue');
    const card = page.getByRole('article', { name: 'cat', exact: true });
    await card.getByRole('button', { name: 'Bind: cat' }).click();
    await page.getByRole('combobox', { name: 'Model id' }).click();
    await page.getByRole('option', { name: 'code-latest' }).click();
    await page.getByRole('button', { name: 'Save' }).click();
    await card.getByText('Bound to code-latest').waitFor({ timeout: 60_000 });
    await card.getByText(/^Loaded: [\d.]+ MB of memory$/).waitFor();
    const choose = async (name: string) => {
      await card.locator('.row-menu-button').click();
      await card.getByRole('menuitem', { name }).click();
    };
    await choose('Delete: cat');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('alert').waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await choose('Unbind from code-latest: cat');
    await page.getByRole('dialog').getByRole('button', { name: 'Unbind from code-latest' }).click();
    await card.getByText('Not bound to a model id.').waitFor({ timeout: 60_000 });
    await choose('Delete: cat');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await card.waitFor({ state: 'detached' });
  });

  it('shows the models that can be pulled with what to expect, in English and German', async () => {
    await test.open('/models?tab=catalogue&q=qwen2.5-1.5b');
    const card = page.getByRole('article', { name: 'qwen2.5-1.5b' });
    for (const text of ['1.5B', '1.1 GB', 'about 1.7 GB', '32,768 tokens', 'Apache-2.0', 'general-8b, instruct-7b'])
      await card.getByText(text, { exact: true }).waitFor();
    await card.getByText('The smallest that is of real use').waitFor();
    assert.equal(await page.getByRole('article').count(), 1);
    const german = await test.newPage({ locale: 'de-DE' });
    await signIn(german, 'Anmelden', 'Passwort', 'E-Mail');
    await test.open('/models?tab=catalogue', german);
    const notes = await german.getByRole('article').allTextContents();
    const { available } = await test.call<{ available: { note: string }[] }>('GET', '/v1/admin/model-files');
    for (const { note } of available) assert.ok(!notes.some((text) => text.includes(note)), `in English: ${note}`);
    assert.equal(notes.length, available.length);
    await german.context().close();
  });

  it('shows a viewer the models to use, and no action', async () => {
    const viewer = await test.invite('viewer', 'vera@example.com');
    await test.open('/models', viewer);
    await viewer.getByRole('row', { name: /general-8b/ }).waitFor();
    await viewer.getByRole('row', { name: /gone/ }).getByText('Down', { exact: true }).waitFor();
    assert.equal(await viewer.getByRole('tab').count(), 0);
    assert.equal(await viewer.locator('main table button').count(), 0);
    assert.deepEqual(await inspectPage(viewer), []);
    await viewer.context().close();
  });

  it('shows the origin of settings, and no secret', async () => {
    await test.open('/settings/instance');
    await page
      .getByRole('row', { name: /batch_concurrency/ })
      .getByText(/quire\.yaml, line \d/)
      .waitFor();
    await page
      .getByRole('row', { name: /hub_token/ })
      .getByText('set, not shown')
      .waitFor();
    assert.ok(!(await page.content()).includes(SECRET));
  });

  it('shows an organization no numbers of another one', async () => {
    const other = await test.call<{ id: string }>('POST', '/v1/admin/organizations', { name: 'other' });
    const { organization } = await test.call<Session>('GET', '/v1/session');
    await test.call('PATCH', '/v1/session', { organization_id: other.id });
    for (const path of ['/overview?period=1h', '/usage']) {
      await test.open(path);
      await page.getByText('No calls in this period.').waitFor();
    }
    await test.call('PATCH', '/v1/session', { organization_id: organization.id });
  });

  for (const scheme of ['light', 'dark'] as const) {
    it(`has no accessibility violations and no overflow in the ${scheme} theme`, async () => {
      const opened = await test.newPage({
        colorScheme: scheme,
        viewport: { width: scheme === 'dark' ? 390 : 1280, height: 900 },
      });
      await signIn(opened);
      for (const path of PAGES) {
        await opened.goto(test.service.url + path);
        await opened.getByRole('heading', { level: 1 }).waitFor();
        await opened.locator('main table').first().waitFor();
        assert.deepEqual([path, await accessibilityViolations(opened)], [path, []]);
        const width = await opened.locator('main').evaluate((main) => main.scrollWidth - main.clientWidth);
        assert.ok(width <= 0, `${path} is ${width} pixels too wide`);
      }
    });
  }

  it('causes no script errors', () => assert.deepEqual(test.errors, []));
});

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
  '/models?tab=files',
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
    await test.open('/models?tab=files');
    await page.getByLabel('Model to pull').fill(CAT_WORD);
    await page.getByRole('button', { name: 'Pull', exact: true }).first().click();
    const bar = page.locator('main').getByRole('progressbar').first();
    await page.waitForFunction(
      (element) => Number(element?.getAttribute('aria-valuenow')) > 20,
      await bar.elementHandle(),
    );
    await page.getByRole('button', { name: /^Cancel: / }).click();
    await page.getByText('Cancelled', { exact: true }).waitFor();
    hub.acts.length = 0;
    hub.acts.push((request, response) => {
      if (request.url !== HUB_PATH) return false;
      sendFile(request, response, CAT);
      return true;
    });
    await page.getByRole('button', { name: 'Pull', exact: true }).first().click();
    await page.getByText('Completed', { exact: true }).waitFor();
    await page.getByRole('table', { name: 'On the disk' }).getByRole('row').nth(1).waitFor();
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
      await opened.goto(`${test.service.url}/sign-in`);
      await opened.getByLabel('Email').fill(EMAIL);
      await opened.getByRole('textbox', { name: 'Password' }).fill(PASSWORD);
      await opened.getByRole('button', { name: 'Sign in' }).click();
      await opened.getByRole('heading', { level: 1, name: 'Start' }).waitFor();
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

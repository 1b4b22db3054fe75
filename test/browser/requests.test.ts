/** The log of requests in Chromium: filters, keys, the sheet with its address, and every width and theme. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { after, before, describe, it } from 'node:test';
import { until } from '../deadline.ts';
import { type ConsoleTest, inspectPage, SKIP_WITHOUT_CONSOLE, startConsole } from './console-page.ts';
import { startPlaygroundUpstream } from './playground-upstream.ts';

/** Folder for pictures of each width and theme; none unless it is set by hand. */
const PICTURES = process.env['REQUESTS_PICTURES'];

describe('the page Requests', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let upstream: Awaited<ReturnType<typeof startPlaygroundUpstream>>;
  before(async () => {
    upstream = await startPlaygroundUpstream();
    test = await startConsole({
      config: `models:\n  general-8b:\n    engine: upstream\n    base_urls: ${upstream.baseUrl}\n`,
    });
    const chat = (body: object) =>
      test.call('POST', '/v1/chat/completions', { messages: [{ role: 'user', content: 'Hello' }], ...body });
    for (let count = 0; count < 3; count += 1) await chat({ model: 'general-8b' });
    const streamed = { stream: true, messages: [{ role: 'user', content: 'markdown' }] };
    await assert.rejects(chat({ model: 'general-8b', ...streamed }), /JSON/);
    await assert.rejects(chat({ model: 'no-such-model' }));
    await assert.rejects(chat({ model: 'general-8b', temperature: 'hot' }));
    await test.call('POST', '/v1/responses', { model: 'general-8b', input: 'Hello' });
  });
  after(async () => {
    await test.close();
    await upstream.close();
  });

  it('lists requests, opens one by click and by j, k and Enter, and closes it by Escape', async () => {
    const { page } = test;
    await test.open('/requests');
    const rows = page.locator('tbody tr');
    await page.getByRole('cell', { name: '404' }).waitFor();
    assert.equal(await rows.count(), 7);
    await page.getByRole('cell', { name: '404' }).click();
    const sheet = page.getByRole('dialog');
    await sheet.getByText('model_not_found').waitFor();
    assert.match(page.url(), /request=req_/);
    await page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'hidden' });
    assert.doesNotMatch(page.url(), /request=/);
    await page.reload();
    await rows.first().waitFor();
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('k');
    await page.keyboard.press('Enter');
    await sheet.getByText('responses · general-8b').waitFor();
    const first = page.url();
    await page.keyboard.press('j');
    await page.waitForURL((url) => url.href !== first);
    await sheet.getByText('Timeline').waitFor();
  });

  it('filters by status and by text, which / reaches, and opens an id from its address', async () => {
    const { page } = test;
    await test.open('/requests?status=4xx');
    await page.getByRole('cell', { name: '404' }).waitFor();
    assert.equal(await page.locator('tbody tr').count(), 2);
    await page.keyboard.press('/');
    await page.keyboard.type('no-such-model');
    await page.waitForURL(/q=no-such-model/);
    await until(async () => (await page.locator('tbody tr').count()) === 1);
    const { data } = await test.call<{ data: { id: string }[] }>('GET', '/v1/requests?limit=1');
    await test.open(`/requests?request=${data[0]?.id}`);
    await page
      .getByRole('dialog')
      .getByText(data[0]?.id ?? '')
      .waitFor();
  });

  it('shows new requests while it is live', async () => {
    const { page } = test;
    await test.open('/requests?live=true');
    await page.locator('tbody tr').nth(6).waitFor();
    const count = await page.locator('tbody tr').count();
    await test.call('POST', '/v1/embeddings', { model: 'embed-large-en-v1.5', input: 'Hello' });
    await until(async () => (await page.locator('tbody tr').count()) === count + 1);
  });

  it('meets WCAG 2.2 AA in both themes and fits a phone', async () => {
    await test.open('/requests');
    assert.deepEqual(await inspectPage(test.page), []);
    assert.deepEqual(test.errors, []);
    if (PICTURES !== undefined) await takePictures(test, PICTURES);
  });
});

async function takePictures(test: ConsoleTest, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const { page } = test;
  const { data } = await test.call<{ data: { id: string; route: string }[] }>('GET', '/v1/requests?limit=10');
  const open = data.find(({ route }) => route === '/v1/responses')?.id;
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1440, 1024, 390]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 860 });
      for (const [name, path] of Object.entries({ list: '/requests', sheet: `/requests?request=${open}` })) {
        await test.open(path);
        await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png` });
      }
    }
}

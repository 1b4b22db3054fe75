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
    const id = page.getByRole('dialog').getByText(data[0]?.id ?? '');
    await id.waitFor();
    await page.setViewportSize({ width: 320, height: 844 });
    const cut = await page.locator('.request-id').evaluate((button) => {
      const { scrollWidth, clientWidth } = button as unknown as { scrollWidth: number; clientWidth: number };
      return scrollWidth - clientWidth;
    });
    assert.equal(cut, 0, 'a phone shows the whole id');
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await id.click();
    assert.equal(await page.evaluate('navigator.clipboard.readText()'), data[0]?.id);
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('shows new requests while it is live', async () => {
    const { page } = test;
    await test.open('/requests?live=true');
    await page.locator('tbody tr').nth(6).waitFor();
    const count = await page.locator('tbody tr').count();
    await test.call('POST', '/v1/embeddings', { model: 'embed-large-en-v1.5', input: 'Hello' });
    await until(async () => (await page.locator('tbody tr').count()) === count + 1);
  });

  it('finds requests by the name of a person', async () => {
    const { page } = test;
    await test.open('/requests?q=nobody%20at%20all');
    await page.getByText('No request in this period matches.').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.press('ControlOrMeta+A');
    await page.keyboard.type('ADA');
    await page.waitForURL(/q=ADA/);
    await page.getByRole('cell', { name: '404' }).waitFor();
  });

  it('records contents once an owner switches it on: prompt, answer, curl, playground, evaluation, deletion', async () => {
    const { page } = test;
    await test.open('/settings');
    await page.getByLabel('Record prompts and answers').check();
    await page.getByLabel('Custom patterns').fill('(\nacme-\\d+');
    await page.getByRole('button', { name: 'Change recording' }).click();
    await page.getByText('must be a regular expression').first().waitFor();
    await page.getByLabel('Custom patterns').fill('acme-\\d+');
    await page.getByRole('button', { name: 'Change recording' }).click();
    await page.getByText('The recording was changed.').waitFor();
    const id = await sendRecorded(test);
    await test.open(`/requests?request=${id}`);
    const sheet = page.getByRole('dialog').first();
    await sheet.getByText('"temperature": 0.5').waitFor();
    await sheet.getByText("It'\\''s [email]").waitFor();
    assert.deepEqual(await inspectPage(page), []);
    await sheet.getByRole('tab', { name: 'Prompt' }).click();
    await sheet.getByText('You work for [redacted].', { exact: true }).waitFor();
    await sheet.getByText("It's [email], <b>hello</b>", { exact: true }).waitFor();
    assert.deepEqual(await inspectPage(page), []);
    await sheet.getByRole('tab', { name: 'Answer' }).click();
    await sheet.getByText('Model', { exact: true }).waitFor();
    await sheet.getByRole('tab', { name: 'Details' }).click();
    await sheet.getByRole('button', { name: 'Add to evaluation' }).click();
    await page.getByRole('textbox', { name: 'Question' }).waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    if (PICTURES !== undefined) await takePictures(test, PICTURES, id);
    await sheet.getByRole('link', { name: 'Playground' }).click();
    await page.getByText("It's [email], <b>hello</b>", { exact: true }).waitFor();
    assert.equal(await page.getByLabel('System prompt').inputValue(), 'You work for [redacted].');
    await test.open(`/requests?request=${id}`);
    await sheet.getByRole('tab', { name: 'Answer' }).click();
    await sheet.getByRole('button', { name: /Delete contents/ }).click();
    await page.getByRole('button', { name: 'Delete contents', exact: true }).last().click();
    await sheet.getByRole('tab', { name: 'Answer' }).waitFor({ state: 'hidden' });
    await sheet.getByText('Template: the contents').waitFor();
    await sendRecorded(test);
    await test.open('/settings');
    await page.getByLabel('Record prompts and answers').uncheck();
    await page.getByRole('button', { name: 'Change recording' }).click();
    await page.getByText('The recording was changed.').waitFor();
    await page.getByRole('button', { name: /Delete recorded contents/ }).click();
    await page.getByRole('button', { name: 'Delete recorded contents', exact: true }).last().click();
    await until(async () => !(await test.call<{ has_contents: boolean }>('GET', '/v1/request-recording')).has_contents);
    assert.deepEqual(test.errors, []);
  });

  it('meets WCAG 2.2 AA in both themes and fits a phone', async () => {
    await test.open('/requests');
    assert.deepEqual(await inspectPage(test.page), []);
    assert.deepEqual(test.errors, []);
  });
});

/** Sends requests until one is recorded (recording starts within a second). Returns its id. */
async function sendRecorded(test: ConsoleTest): Promise<string | undefined> {
  const messages = [
    { role: 'system', content: 'You work for acme-42.' },
    { role: 'user', content: "It's bob@example.com, <b>hello</b>" },
  ];
  const newest = async () => {
    const { data } = await test.call<{ data: { id: string }[] }>('GET', '/v1/requests?limit=1');
    return data[0]?.id;
  };
  for (;;) {
    const before = await newest();
    await test.call('POST', '/v1/chat/completions', { model: 'general-8b', messages, temperature: 0.5 });
    await until(async () => (await newest()) !== before);
    const id = await newest();
    const hasContents = async () =>
      (await test.call<{ has_contents: boolean }>('GET', `/v1/requests/${id}`)).has_contents;
    if (await hasContents()) return id;
  }
}

async function takePictures(test: ConsoleTest, folder: string, id: string | undefined): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const { page } = test;
  const paths = {
    list: '/requests',
    sheet: `/requests?request=${id}`,
    settings: '/settings',
    playground: `/playground?request=${id}`,
  };
  for (const colorScheme of ['light', 'dark'] as const)
    for (const width of [1440, 390]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 860 });
      for (const [name, path] of Object.entries(paths)) {
        await test.open(path);
        await page.screenshot({ path: `${folder}/${name}-${colorScheme}-${width}.png`, fullPage: name === 'settings' });
        if (name !== 'sheet') continue;
        for (const tab of ['Prompt', 'Answer']) {
          await page.getByRole('tab', { name: tab }).click();
          await page.screenshot({ path: `${folder}/${tab}-${colorScheme}-${width}.png` });
        }
      }
    }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: 'light' });
  await test.open(paths.sheet);
}

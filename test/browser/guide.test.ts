import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { type ConsoleTest, inspectPage, SKIP_WITHOUT_CONSOLE, startConsole } from './console-page.ts';

describe('the guide', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let page: Page;
  before(async () => {
    test = await startConsole();
    page = await test.newPage();
    page.setDefaultTimeout(15_000);
  });
  after(() => test?.close());

  const open = (path: string) => page.goto(`${test.service.url}/docs/guide${path}`);

  it('is found from the console, without a session', async () => {
    assert.equal(await test.page.getByRole('link', { name: 'Guide', exact: true }).getAttribute('href'), '/docs/guide');
    await open('');
    await page.getByRole('link', { name: 'Your documents in five minutes' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'Your documents in five minutes' }).waitFor();
  });

  it('is searched from the keyboard', async () => {
    await open('/limits');
    const search = page.getByRole('combobox', { name: 'Search the guide' });
    await search.waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('lost passw');
    const options = page.getByRole('option');
    await options.first().waitFor();
    assert.equal(await search.getAttribute('aria-activedescendant'), 'hit-0');
    await page.keyboard.press('ArrowDown');
    assert.equal(await options.nth(1).getAttribute('aria-selected'), 'true');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await page.waitForURL(/guide\/console#lost-passwords$/);
    await page.getByRole('heading', { name: 'Lost passwords' }).waitFor();
  });

  it('shows the operations of the API with their fields, and the contents behind a button on a phone', async () => {
    await open('/api/knowledge-bases');
    await page.getByRole('heading', { name: 'Search a knowledge base' }).waitFor();
    await page.setViewportSize({ width: 390, height: 844 });
    const contents = page.getByRole('navigation', { name: 'Guide' });
    assert.equal(await contents.isVisible(), false);
    await page.getByRole('button', { name: 'Contents' }).click();
    await contents.getByRole('link', { name: 'Batches', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Batches' }).waitFor();
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('links from the list of operations at /docs to an operation with fields, examples and the playground', async () => {
    await page.goto(`${test.service.url}/docs`);
    await page.getByRole('heading', { level: 1, name: 'All operations' }).waitFor();
    await page.getByRole('main').getByRole('link', { name: 'Create a chat completion' }).click();
    await page.waitForURL(/api\/generate#createChatCompletion$/);
    await page.getByRole('link', { name: 'Try it in the playground' }).first().waitFor();
    await page.getByText('With the OpenAI client').first().click();
    await page.getByText('await client.chat.completions.create({').waitFor();
  });

  it('keeps the theme that is chosen, in the console too', async () => {
    await page.emulateMedia({ colorScheme: 'light' });
    await open('');
    await page.getByRole('button', { name: 'Light or dark' }).click();
    await open('/limits');
    await page.locator(':root[data-mantine-color-scheme=dark]').waitFor();
    await page.evaluate('localStorage.removeItem("mantine-color-scheme-value")');
  });

  for (const path of ['', '/tutorials/support-bot', '/configuration', '/api/operation', '/api/all', '/api/protocols']) {
    it(`is accessible in both themes and on a phone: ${path || 'the contents'}`, async () => {
      await open(path);
      assert.deepEqual(await inspectPage(page), []);
    });
  }

  it('loads nothing from elsewhere and throws no errors', () => {
    assert.deepEqual([...test.origins], [test.service.url]);
    assert.deepEqual(test.errors, []);
  });
});

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import type { TestServer } from '../fixtures/upstream-server.ts';
import { type ConsoleTest, chooseAction, inspectPage, SKIP_WITHOUT_CONSOLE, startConsole } from './console-page.ts';
import { startPlaygroundUpstream } from './playground-upstream.ts';

const SECRET = 'The word of the day is "kraken".';

describe('presets and prompts in Chromium', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let upstream: TestServer;
  /** Of a developer. */
  let page: Page;
  before(async () => {
    upstream = await startPlaygroundUpstream();
    const config = `models:\n  scripted:\n    engine: upstream\n    base_urls: ${upstream.baseUrl}\n`;
    test = await startConsole({ config });
    page = await test.invite('developer', 'dora@example.com', { reducedMotion: 'reduce' });
  });
  after(async () => {
    await test?.close();
    await upstream?.close();
  });
  const field = () => page.getByLabel('Ask about your documents');
  const chip = (name: string) => page.getByRole('button', { name, exact: true });

  it('an owner publishes a preset, with which new chats of others begin', async () => {
    const { page: owner } = test;
    await test.open('/presets');
    assert.deepEqual(await inspectPage(owner), []);
    await owner.getByRole('button', { name: 'Create preset' }).first().click();
    const dialog = owner.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Support');
    await dialog.getByLabel('Description').fill('Answers "shortly".');
    await dialog.getByLabel('Instructions').fill(SECRET);
    await dialog.getByRole('combobox', { name: 'Model', exact: true }).click();
    await owner.getByRole('option', { name: 'scripted' }).click();
    await dialog.getByRole('switch', { name: 'Published' }).press('Space');
    await dialog.getByRole('switch', { name: 'Default for new chats' }).press('Space');
    assert.deepEqual(await inspectPage(owner), []);
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await owner.getByRole('cell', { name: /^Support/ }).waitFor();
    await owner.getByText('Default', { exact: true }).waitFor();

    await test.open('/chat', page);
    await chip('Preset: Support').waitFor();
    await chip('Model: scripted').waitFor();
    await page.getByText('Answers "shortly".').waitFor();
    await field().fill('think about moorings');
    await page.keyboard.press('Enter');
    await page.locator('.chat-turn').first().getByText('Details').waitFor();
    // The last request may ask for the title of the chat.
    assert.ok(upstream.requests.some(({ body }) => JSON.stringify(body).includes('kraken')));
    assert.ok(!(await page.content()).includes('kraken'));
    assert.deepEqual(await inspectPage(page), []);
    await page.goto(`${test.service.url}/presets`);
    await page.getByText('Your role may not see this page.').waitFor();
  });

  it('an unpublished preset stays in its chats, but can no longer be selected', async () => {
    const { page: owner } = test;
    await owner.getByText('Support', { exact: true }).waitFor();
    await owner.getByRole('switch', { name: 'Published: Support' }).press('Space');
    await owner.getByRole('switch', { name: 'Published: Support', checked: false }).waitFor();
    await test.open('/chat', page);
    await chip('Preset: Support').waitFor({ state: 'detached' });
    await page.locator('.chat-row > a').first().click();
    await chip('Preset: Support').click();
    await page.getByRole('option', { name: 'No preset' }).click();
    // The preset cannot be selected.
    await chip('Preset: Support').waitFor({ state: 'detached' });
    await chooseAction(owner, 'Delete: Support');
    await owner.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await owner.getByText('Presets for the chats of your organization appear here.').waitFor();
    await page.reload();
    await chip('Preset: Deleted preset').waitFor();
  });

  it('a person keeps versions of a prompt, and restores one', async () => {
    await test.open('/prompts', page);
    await page.getByRole('button', { name: 'Create prompt' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('Summary');
    await dialog.getByLabel('Text').fill('Think about {{topic}} for {{audience}}.');
    await dialog.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('cell', { name: 'topic, audience' }).waitFor();
    assert.deepEqual(await inspectPage(page), []);
    await page.getByRole('cell', { name: 'topic, audience' }).click();
    await page.waitForURL(/prompt=pmpt_/);
    await dialog.getByLabel('Text').fill('Other text');
    await dialog.getByRole('button', { name: 'Save version 2' }).click();
    await dialog.getByText('Version 2').waitFor();
    await dialog.getByText('Version 1').click();
    assert.deepEqual(await inspectPage(page), []);
    await dialog.getByRole('combobox', { name: 'Compare with' }).locator('visible=true').click();
    await page.getByRole('option', { name: 'Version 2' }).click();
    await dialog.getByText(/What version 2 removed .* since version 1/).waitFor();
    assert.deepEqual(await dialog.locator('del').allTextContents(), ['Think about {{topic}} for {{audience}}.']);
    assert.deepEqual(await dialog.locator('ins').allTextContents(), ['Other text']);
    assert.deepEqual(await inspectPage(page), []);
    await dialog.getByRole('button', { name: 'Restore: Version 1' }).click();
    await page.getByRole('button', { name: 'Restore', exact: true }).click();
    await dialog.getByText('Version 3').waitFor();
    assert.equal(await dialog.getByLabel('Text').inputValue(), 'Think about {{topic}} for {{audience}}.');
    await page.keyboard.press('Escape');
    await page.waitForURL(/\/prompts$/);
  });

  it('a slash in an empty message opens the library, by the keyboard alone', async () => {
    await test.call('POST', '/v1/prompts', { name: 'Greeting', text: 'Hello {{{{}}', shared: true });
    await test.open('/chat', page);
    await field().focus();
    await page.keyboard.type('/sum');
    await page.getByRole('option', { name: /Summary/ }).waitFor();
    await page.getByRole('option', { name: /Greeting/ }).waitFor({ state: 'detached' });
    assert.deepEqual(await inspectPage(page), []);
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('topic').fill('{{moorings}} $&');
    await dialog.getByLabel('audience').fill('"all"');
    assert.deepEqual(await inspectPage(page), []);
    await dialog.getByRole('button', { name: 'Insert' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.equal(await field().inputValue(), 'Think about {{moorings}} $& for "all".');
    await page.keyboard.type('!');
    await page.keyboard.press('Enter');
    await page.locator('.chat-mine', { hasText: 'Think about {{moorings}} $& for "all".!' }).waitFor();
    await page.locator('.chat-turn').first().getByText('Details').waitFor();
    await field().fill('');
    await page.keyboard.type('/');
    await page.getByRole('option', { name: /Greeting/ }).click();
    await page.waitForFunction("document.querySelector('.chat-field textarea').value === 'Hello {{{{}}'");
    await field().fill('');
    await page.keyboard.type('/usr');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Enter');
    await page.locator('.chat-mine', { hasText: '/usr' }).waitFor();
  });
});

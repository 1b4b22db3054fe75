import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import type { TestServer } from '../fixtures/upstream-server.ts';
import { type ConsoleTest, inspectPage, SKIP_WITHOUT_CONSOLE, startConsole } from './console-page.ts';
import { CITED_SENTENCE, startPlaygroundUpstream } from './playground-upstream.ts';

const MANUAL = `# Harbour manual\n\n## Winter\n\n${CITED_SENTENCE} The crane works on Mondays.\n`;

describe('the chat in Chromium', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let upstream: TestServer;
  /** Of a viewer. */
  let page: Page;

  before(async () => {
    upstream = await startPlaygroundUpstream();
    const config = `models:\n  scripted:\n    engine: upstream\n    base_urls: ${upstream.baseUrl}\n`;
    test = await startConsole({ config });
    await test.createKnowledgeBase('Harbour', { name: 'manual.md', text: MANUAL });
    page = await test.invite('viewer', 'vera@example.com', { reducedMotion: 'reduce' });
  });
  after(async () => {
    await test?.close();
    await upstream?.close();
  });

  const field = () => page.getByLabel('Ask about your documents');
  const send = async (text: string) => {
    await field().fill(text);
    await page.keyboard.press('Enter');
  };
  /** Waits for the line below the answer of this place. */
  const answered = (place: number) => page.locator('.chat-turn').nth(place).getByText('Details').waitFor();
  const ask = async (text: string, place: number) => {
    await send(text);
    await answered(place);
  };
  const choose = async (chip: string | RegExp, option: string) => {
    await page.getByRole('button', { name: chip }).click();
    await page.getByRole('option', { name: option, exact: true }).click();
  };
  const rows = () => page.locator('.chat-row > a').allInnerTexts();
  const list = () => page.getByRole('navigation', { name: 'Chats' });
  const act = async (name: RegExp) => {
    await page.locator('.chat-head .row-menu-button').click();
    await page.locator('.chat-head').getByRole('menuitem', { name }).click();
  };

  it('is the first page of a viewer, and answers with numbered sources, the passage marked at the right', async () => {
    assert.equal(new URL(page.url()).pathname, '/chat');
    await choose('Knowledge base', 'Harbour');
    await choose(/^Model: /, 'scripted');
    await ask('Please search the price of a mooring', 0);
    await page.waitForURL(/\/chat\/chat_\w+$/);
    const sources = page.getByRole('complementary', { name: 'Sources' });
    await sources.locator('mark.passage', { hasText: '310 euros' }).waitFor();
    const cite = page.locator('.chat-answer').getByRole('button', { name: '1', exact: true }).first();
    await cite.click();
    assert.equal(await sources.getByRole('button', { name: '1 manual.md' }).getAttribute('aria-expanded'), 'true');
    await page.locator('.chat-turn').getByText('Details').click();
    await page.getByText('Passages found: 1').waitFor();
    assert.deepEqual(await inspectPage(page), []);
  });

  it('shows everything after a reload, also an answer that is being written, which can be stopped and continued', async () => {
    await page.getByRole('button', { name: 'Remove Harbour' }).click();
    await send('please hang');
    await page.getByText('Partial answer').waitFor();
    await page.reload();
    await page.getByText('Partial answer').waitFor();
    assert.match((await page.locator('.chat-turn').first().textContent()) ?? '', /the price of a mooring/);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('You stopped this answer.').waitFor();
    await page.getByText('Partial answer').waitFor();
    await page.getByRole('button', { name: 'Continue' }).click();
    await answered(2);
    await page.getByText('You said: Continue').waitFor();
    const isSent = page.waitForResponse(
      (response) => response.request().method() === 'POST' && response.url().endsWith('/messages'),
    );
    await page.locator('.chat-turn').nth(2).getByRole('button', { name: 'Answer again' }).click();
    await isSent;
    await answered(2);
  });

  it('keeps each version of a message that is edited or answered again, and shows the one that was shown last', async () => {
    const turn = (place: number) => page.locator('.chat-turn').nth(place);
    await turn(2).getByRole('status', { name: 'Version 2 of 2' }).waitFor();
    await turn(0).hover();
    await turn(0).getByRole('button', { name: 'Edit the message' }).click();
    await page.keyboard.press('Escape');
    await turn(0).getByRole('button', { name: 'Edit the message' }).click();
    await page.getByRole('textbox', { name: 'Edit the message' }).fill('Hello harbour');
    await page.keyboard.press('Enter');
    await turn(0).getByText('You said: Hello harbour').waitFor();
    assert.equal(await page.locator('.chat-turn').count(), 1);
    await answered(0);
    assert.deepEqual(await inspectPage(page), []);
    await turn(0).getByRole('button', { name: 'Previous version' }).click();
    await turn(2).getByRole('status', { name: 'Version 2 of 2' }).waitFor();
    await page.reload();
    await turn(2).getByRole('status', { name: 'Version 2 of 2' }).waitFor();
    await turn(0).getByRole('status', { name: 'Version 1 of 2' }).waitFor();
  });

  it('keeps the text of a message that is rejected', async () => {
    await page.route('**/messages', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({ status: 500, json: { error: { message: 'No.' } } })
        : route.continue(),
    );
    await send('My question');
    await page.getByText('No.', { exact: true }).waitFor();
    assert.equal(await field().inputValue(), 'My question');
    await page.unrouteAll();
  });

  it('lists chats by day, finds texts, pins, renames and deletes', async () => {
    await page.getByRole('link', { name: 'New chat' }).click();
    await page.waitForURL(/\/chat$/);
    await ask('think about moorings', 0);
    await page.getByText('Reasoning', { exact: true }).waitFor();
    await page.locator('.chat-row').nth(1).waitFor();
    await act(/^Rename/);
    await page.getByLabel('Title').fill('Moorings');
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click();
    await page.getByRole('heading', { level: 1, name: 'Moorings' }).waitFor();
    await page.getByRole('button', { name: 'Search chats' }).click();
    await page.getByLabel('Search chats').last().fill('PARTIAL ANSWER');
    await list().getByText('Moorings').waitFor({ state: 'detached' });
    // The rows are gone for as long as the search is read.
    await page.locator('.chat-row').first().waitFor();
    assert.match((await rows()).join(), /^Please search the price of a mooring/);
    await page.getByRole('button', { name: 'Search chats' }).click();
    await list().getByText('Moorings').click();
    await act(/^Pin/);
    await list().getByRole('heading', { name: 'Pinned' }).waitFor();
    const downloading = page.waitForEvent('download');
    await act(/^Export as Markdown/);
    assert.equal((await downloading).suggestedFilename(), 'Moorings.md');
    await act(/^Delete/);
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { level: 1, name: 'New chat' }).waitFor();
    await list().getByText('Moorings').waitFor({ state: 'detached' });
    assert.equal((await rows()).length, 1);
  });

  it('is not seen by the owner of the organization', async () => {
    await test.open('/chat');
    await test.page.getByText('Your chats appear here.').waitFor();
    assert.deepEqual(test.errors, []);
  });
});

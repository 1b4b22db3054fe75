/** Shared links and feedback as other members see them, and the user's own folders and titles. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import type { TestServer } from '../fixtures/upstream-server.ts';
import { type ConsoleTest, inspectPage, SKIP_WITHOUT_CONSOLE, startConsole } from './console-page.ts';
import { CITED_SENTENCE, startPlaygroundUpstream } from './playground-upstream.ts';

const MANUAL = `# Harbour manual\n\n## Winter\n\n${CITED_SENTENCE} The crane works on Mondays.\n`;
const QUESTION = 'Please search the price of a mooring';
const COMMENT = 'The price "310" is of last year.';

describe('shared chats, feedback, folders and titles in Chromium', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let upstream: TestServer;
  /** Of a viewer, whose chats these are. */
  let page: Page;
  let kbId: string;
  let link: string;

  before(async () => {
    upstream = await startPlaygroundUpstream();
    const config = `models:\n  scripted:\n    engine: upstream\n    base_urls: ${upstream.baseUrl}\n`;
    test = await startConsole({ config });
    kbId = await test.createKnowledgeBase('Harbour', { name: 'manual.md', text: MANUAL });
    page = await test.invite('viewer', 'vera@example.com', { reducedMotion: 'reduce' });
    const chat = await test.call<{ id: string }>('POST', '/v1/chats', {}, page);
    await ask(chat.id, { text: QUESTION, knowledge_base_ids: [kbId] });
    await test.open(`/chat/${chat.id}`, page);
  });
  after(async () => {
    await test?.close();
    await upstream?.close();
  });

  /** Sends a message of the viewer; resolves when its answer has ended. */
  const ask = async (chatId: string, message: object) => {
    const path = `/v1/chats/${chatId}/messages`;
    const { id } = await test.call<{ id: string }>('POST', path, { model: 'scripted', ...message }, page);
    await page.evaluate(async (url) => (await fetch(url)).text(), `${path}/${id}?stream=true`);
  };
  const dialog = (of = page) => of.getByRole('dialog');
  const act = async (name: RegExp) => {
    await page.locator('.chat-head .row-menu-button').click();
    await page.locator('.chat-head').getByRole('menuitem', { name }).click();
  };
  const picture = async (name: string, of = page) => {
    const target = process.env['QUIRE_SCREENSHOTS'];
    if (target === undefined) return;
    for (const colorScheme of ['light', 'dark'] as const) {
      await of.emulateMedia({ colorScheme });
      await of.setViewportSize({ width: 1440, height: 900 });
      await of.screenshot({ path: join(target, `${name}-${colorScheme}.png`) });
    }
    await of.setViewportSize({ width: 390, height: 844 });
    // The navigation slides out.
    await of.waitForTimeout(400);
    await of.screenshot({ path: join(target, `${name}-phone.png`) });
    await of.setViewportSize({ width: 1280, height: 900 });
  };

  it('a chat is shared by a link that members open, with its sources, until it is revoked', async () => {
    await act(/^Share/);
    await dialog().getByText('no later messages').waitFor();
    await dialog().getByRole('button', { name: 'Create link' }).click();
    link = (await dialog().locator('pre').textContent()) ?? '';
    assert.match(link, /\/chat\/shared\/[\w-]{43}$/);
    await picture('share-dialog');
    assert.deepEqual(await inspectPage(page), []);
    await page.keyboard.press('Escape');
    await test.page.goto(link);
    await test.page.getByRole('heading', { level: 1, name: QUESTION }).waitFor();
    await test.page.getByText('Shared by vera@example.com').waitFor();
    const sources = test.page.getByRole('complementary', { name: 'Sources' });
    await sources.locator('mark.passage', { hasText: '310 euros' }).waitFor();
    await picture('shared-chat', test.page);
    assert.deepEqual(await inspectPage(test.page), []);
    await act(/^Share/);
    await dialog().getByRole('button', { name: 'Revoke link' }).click();
    await dialog().getByRole('button', { name: 'Create link' }).waitFor();
    await page.keyboard.press('Escape');
    await test.page.reload();
    await test.page.getByText('This link is invalid').waitFor();
    await picture('link-ended', test.page);
    assert.deepEqual(await inspectPage(test.page), []);
  });

  it('a rated answer is listed for owners, who make a question of it, until the rating is taken back', async () => {
    const bad = page.getByRole('button', { name: 'Bad answer' });
    await bad.click();
    await dialog().getByText('will see your name, this message and its answer').waitFor();
    await dialog().getByLabel('Comment').fill(COMMENT);
    await picture('feedback-dialog');
    assert.deepEqual(await inspectPage(page), []);
    await dialog().getByRole('button', { name: 'Send feedback' }).click();
    await dialog().waitFor({ state: 'detached' });
    assert.equal(await bad.getAttribute('aria-pressed'), 'true');
    assert.equal(await page.getByRole('link', { name: 'Feedback' }).count(), 0);
    await test.open('/');
    await test.page.getByRole('link', { name: 'Feedback' }).click();
    await test.page.getByRole('cell', { name: COMMENT }).waitFor();
    await picture('feedback-page', test.page);
    assert.deepEqual(await inspectPage(test.page), []);
    await test.page.getByText('Good', { exact: true }).click();
    await test.page.getByText('Answers that people rate').waitFor();
    await test.page.getByText('All', { exact: true }).click();
    await test.page.getByRole('button', { name: `Add to evaluation: ${QUESTION}` }).click();
    const form = dialog(test.page);
    assert.equal(await form.getByRole('textbox', { name: 'Question' }).inputValue(), QUESTION);
    assert.match(await form.getByLabel('Expected facts').inputValue(), /^By the manual: A mooring/);
    await form.getByLabel('Name of the new set').fill('From feedback');
    await form.getByLabel('Expected facts').fill('310');
    await picture('add-rated', test.page);
    assert.deepEqual(await inspectPage(test.page), []);
    await form.getByRole('button', { name: 'Save' }).click();
    await form.waitFor({ state: 'detached' });
    const sets = `/v1/knowledge-bases/${kbId}/question-sets`;
    const { data } = await test.call<{ data: { id: string }[] }>('GET', sets);
    const set = await test.call<{ questions: object[] }>('GET', `${sets}/${data[0]?.id}`);
    assert.deepEqual(set.questions, [{ question: QUESTION, answer: '310', document: 'manual.md' }]);
    await bad.click();
    assert.equal(await dialog().getByLabel('Comment').inputValue(), COMMENT);
    await dialog().getByRole('button', { name: 'Delete feedback' }).click();
    await dialog().waitFor({ state: 'detached' });
    assert.equal(await bad.getAttribute('aria-pressed'), 'false');
    await test.page.reload();
    await test.page.getByText('Answers that people rate').waitFor();
  });

  it('chats move into folders, by the menu and by dragging, which are renamed and deleted', async () => {
    const list = page.getByRole('navigation', { name: 'Chats' });
    const fold = (name: string) => list.getByRole('button', { name, expanded: false });
    const folderMenu = async (name: RegExp) => {
      await list.locator('.chat-folder .row-menu-button').click();
      await list.locator('.chat-folder').getByRole('menuitem', { name }).click();
    };
    await act(/^Move/);
    await dialog().getByLabel('Folder').first().fill('Harbour');
    await dialog().getByRole('button', { name: 'Move', exact: true }).click();
    await fold('Harbour 1').click();
    await list.locator('.chat-folder-chats').getByText(QUESTION).waitFor();
    await page.reload();
    await list.locator('.chat-folder-chats').getByText(QUESTION).waitFor();
    await test.call('POST', '/v1/chats', { title: 'Crane' }, page);
    await page.reload();
    await list.getByText('Crane').dragTo(list.getByRole('button', { name: 'Harbour 1' }));
    await list.locator('.chat-folder-chats').getByText('Crane').waitFor();
    await picture('folders');
    assert.deepEqual(await inspectPage(page), []);
    await folderMenu(/^Rename/);
    await dialog().getByLabel('Folder').fill('Moorings / 2026');
    await dialog().getByRole('button', { name: 'Rename' }).click();
    await fold('Moorings / 2026 2').waitFor();
    await folderMenu(/^Delete/);
    await dialog().getByRole('button', { name: 'Delete' }).click();
    await list.getByText('Moorings / 2026').waitFor({ state: 'detached' });
    await list.getByText('Crane').waitFor();
  });

  it('the title is by the model after the first answer', async () => {
    await page.getByRole('link', { name: 'New chat' }).click();
    await page.getByRole('heading', { level: 1, name: 'New chat' }).waitFor();
    await page.getByLabel('Ask about your documents').fill('Do you write a title?');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'By the model' }).waitFor();
    await page.getByRole('navigation', { name: 'Chats' }).getByText('By the model').waitFor();
    assert.deepEqual(test.errors, []);
  });

  it('speaks German', async () => {
    const state = await test.page.context().storageState();
    const german = await test.newPage({ locale: 'de-DE', storageState: state });
    await test.open('/feedback', german);
    await german.getByText('Hier erscheinen Antworten').waitFor();
    await german.goto(link);
    await german.getByText('Dieser Link ist ungültig').waitFor();
    await picture('link-ended-german', german);
  });
});

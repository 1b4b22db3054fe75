import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { makePdf } from '../fixtures/documents-pdf.ts';
import { encodePng } from '../fixtures/scans.ts';
import type { TestServer } from '../fixtures/upstream-server.ts';
import { type ConsoleTest, inspectPage, SKIP_WITHOUT_CONSOLE, startConsole } from './console-page.ts';
import { CITED_SENTENCE, startPlaygroundUpstream } from './playground-upstream.ts';

const MANUAL = makePdf([[{ text: 'Harbour manual', x: 72, y: 700 }], [{ text: CITED_SENTENCE, x: 72, y: 700 }]]);
const PICTURE = encodePng({ width: 120, height: 80, pixels: Buffer.alloc(9600, 160) });

describe('attachments of a chat in Chromium', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let upstream: TestServer;
  let page: Page;

  before(async () => {
    upstream = await startPlaygroundUpstream();
    const server = `    engine: upstream\n    base_urls: ${upstream.baseUrl}\n`;
    const config = `models:\n  scripted:\n${server}  seeing:\n${server}    capabilities: [vision]\n`;
    test = await startConsole({ config });
    page = await test.invite('viewer', 'vera@example.com', { reducedMotion: 'reduce' });
  });
  after(async () => {
    await test?.close();
    await upstream?.close();
  });

  const field = () => page.getByLabel('Ask about your documents');
  const draft = () => page.locator('.chat-composer').getByRole('list', { name: 'Files of the message' });
  const sendButton = () => page.getByRole('button', { name: 'Send', exact: true });
  const turn = (place: number) => page.locator('.chat-turn').nth(place);
  const ask = async (text: string, place: number) => {
    await field().fill(text);
    await page.keyboard.press('Enter');
    await turn(place).getByText('Details').waitFor();
  };
  const choose = async (option: string) => {
    await page.getByRole('button', { name: /^Model: / }).click();
    await page.getByRole('option', { name: option, exact: true }).click();
  };
  const choosePdf = () =>
    page.locator('input[type=file]').setInputFiles({ name: 'manual.pdf', mimeType: 'application/pdf', buffer: MANUAL });
  /** Dispatches a paste or drop event with a file. */
  const give = (event: 'paste' | 'drop', name: string, content: Buffer, type: string) =>
    page.evaluate(`{
      const file = ${JSON.stringify({ name, type, base64: content.toString('base64') })};
      const bytes = Uint8Array.from(atob(file.base64), (character) => character.charCodeAt(0));
      const data = new DataTransfer();
      data.items.add(new File([bytes], file.name, { type: file.type }));
      const options = { bubbles: true, cancelable: true, clipboardData: data, dataTransfer: data };
      const event = '${event}' === 'paste' ? new ClipboardEvent('paste', options) : new DragEvent('drop', options);
      document.activeElement.dispatchEvent(event);
    }`);

  it('are read in a new chat, then searched and cited with their page', async () => {
    await choose('scripted');
    await field().fill('Please search the price of a mooring');
    // The first list of the new chat is older than the upload.
    await page.route(
      '**/attachments?*',
      async (route) => {
        const list = await route.fetch();
        await isUploaded;
        await route.fulfill({ response: list });
      },
      { times: 1 },
    );
    const isUploaded = page.waitForResponse(
      (response) => response.request().method() === 'POST' && /attachments$/.test(response.url()),
    );
    await choosePdf();
    await page.waitForURL(/\/chat\/chat_\w+$/);
    await draft()
      .getByText(/\d+(\.\d+)? k?B/)
      .waitFor({ timeout: 120_000 });
    assert.equal(await field().inputValue(), 'Please search the price of a mooring', 'the text stays');
    await field().focus();
    await page.keyboard.press('Enter');
    await turn(0).getByText('Details').waitFor();
    assert.equal(await draft().count(), 0);
    await turn(0).getByRole('list', { name: 'Files of the message' }).getByText('manual.pdf').waitFor();
    const sources = page.getByRole('complementary', { name: 'Sources' });
    await sources.getByRole('button', { name: /manual\.pdf · Page 2/ }).waitFor();
    await sources.locator('img.page-image').waitFor();
    const { data } = await test.call<{ data: object[] }>('GET', '/v1/knowledge-bases', undefined, page);
    assert.deepEqual(data, []);
    assert.deepEqual(await inspectPage(page), []);
  });

  it('are pasted as images, which wait for a model that sees them', async () => {
    await field().focus();
    await give('paste', 'image.png', PICTURE, 'image/png');
    await page.getByText('The model scripted does not support images.').waitFor();
    await field().fill('What is it?');
    assert.ok(await sendButton().isDisabled());
    assert.deepEqual(await inspectPage(page), []);
    await choose('seeing');
    await ask('What is it?', 1);
    await turn(1).getByText('You said: an image: What is it?').waitFor();
    const picture = turn(1).getByRole('img', { name: 'image.png' });
    assert.equal(await picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth), 120);
    assert.deepEqual(await inspectPage(page), []);
  });

  it('stay with a message that is edited, and after a reload', async () => {
    await turn(1).hover();
    await turn(1).getByRole('button', { name: 'Edit the message' }).click();
    await page.getByRole('textbox', { name: 'Edit the message' }).fill('And now?');
    await page.keyboard.press('Enter');
    await turn(1).getByText('You said: an image: And now?').waitFor();
    await turn(1).getByText('Details').waitFor();
    await page.reload();
    await turn(1).getByRole('img', { name: 'image.png' }).waitFor();
    assert.equal(await draft().count(), 0);
  });

  it('are dropped, kept over a reload and removed; a rejected file shows the reason', async () => {
    await field().focus();
    await give('drop', 'notes.txt', Buffer.from('Notes.'), 'text/plain');
    await draft().getByText('6 B').waitFor({ timeout: 120_000 });
    await page.reload();
    await draft().getByText('notes.txt').waitFor();
    await page.getByRole('button', { name: 'Remove notes.txt' }).click();
    await draft().waitFor({ state: 'detached' });
    await field().focus();
    await give('drop', 'tool.exe', Buffer.from('MZ'), 'application/octet-stream');
    await page
      .getByRole('alert')
      .getByText(/tool\.exe: .*must have a name that ends in/)
      .waitFor();
    assert.deepEqual(await inspectPage(page), []);
    await page.getByRole('button', { name: 'Remove tool.exe' }).click();
    await draft().waitFor({ state: 'detached' });
    assert.deepEqual(test.errors, []);
  });

  it('are not stored when they are removed while they are sent', async () => {
    const { promise: isSent, resolve: send } = Promise.withResolvers<void>();
    await page.route('**/attachments', async (route) => {
      await isSent;
      await route.continue().catch(() => {});
    });
    await field().focus();
    for (const name of ['sent.txt', 'waiting.txt']) await give('drop', name, Buffer.from(name), 'text/plain');
    await page.getByRole('button', { name: 'Remove waiting.txt' }).click();
    await page.getByRole('button', { name: 'Remove sent.txt' }).click();
    await draft().waitFor({ state: 'detached' });
    send();
    await page.unroute('**/attachments');
    await give('drop', 'last.txt', Buffer.from('last'), 'text/plain');
    await draft().getByText('4 B').waitFor({ timeout: 120_000 });
    assert.deepEqual(await draft().getByRole('listitem').count(), 1);
  });
});

import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, afterEach, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { sendJson, startServer, type TestServer } from '../fixtures/upstream-server.ts';
import { accessibilityViolations, type ConsoleTest, SKIP_WITHOUT_CONSOLE, startConsole } from './console-page.ts';

/** One byte more than the limit of the service. */
const TOO_LARGE_BYTES = 536_870_913;
const VECTOR = Array.from({ length: 1024 }, (_, index) => (index === 0 ? 1 : 0));

describe('uploads in the console', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let page: Page;
  let folder: string;
  let embedder: Awaited<ReturnType<typeof startEmbedder>>;
  let path: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'quire-browser-'));
    embedder = await startEmbedder();
    const config = `models:\n  embed-large-en-v1.5:\n    base_urls: ${embedder.server.baseUrl}\n    upstream_model: test\n`;
    test = await startConsole({ config });
    page = test.page;
    await page.clock.install();
    const { id } = await test.call<{ id: string }>('POST', '/v1/knowledge-bases', { name: 'Harbour' });
    path = `/knowledge-bases/${id}`;
    await test.open(path);
  });
  after(async () => {
    embedder?.answer();
    await test?.close();
    await embedder?.server.close();
    rmSync(folder, { recursive: true, force: true });
  });

  afterEach(() => embedder.answer());

  const file = (name: string, content = `# ${name}\n\nA berth costs 24 euros.\n`) => {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const choose = (files: string[], shown = page) => shown.locator('input[type=file]').setInputFiles(files);
  const row = (name: string, shown = page) => shown.getByRole('group', { name, exact: true });
  const hasState = (name: string, state: string, shown = page) =>
    row(name, shown).getByText(state, { exact: true }).waitFor();

  it('rejects files of a wrong type, empty and too large files in their rows, and uploads the others', async () => {
    const posted: string[] = [];
    page.on('request', (request) => {
      if (request.method() === 'POST') posted.push(new URL(request.url()).pathname);
    });
    const huge = file('huge.pdf');
    truncateSync(huge, TOO_LARGE_BYTES);
    await choose([file('photo.psd'), file('empty.md', ''), huge, file('manual.md')]);
    await row('photo.psd')
      .getByText(
        'Accepted: .jsonl, .pdf, .txt, .md, .csv, .docx, .html, .xlsx, .pptx, .ods, .odp, .png, .jpg, .jpeg, .tif, .tiff, .webp, .odt, .epub, .zip, .rtf, .eml, .msg, .json.',
      )
      .waitFor();
    await row('empty.md').getByText('Not uploaded: the file is empty.').waitFor();
    await row('huge.pdf').getByText('Not uploaded: the file is larger than the limit of 536.9 MB.').waitFor();
    await hasState('manual.md', 'Ready');
    await row('manual.md').getByText('Chunks: 1').waitFor();
    assert.equal(posted.filter((each) => each === '/v1/files').length, 1);
    assert.equal(await row('photo.psd').getByRole('button').count(), 0, 'a retry would not help');
    await page.getByRole('button', { name: 'Clear list' }).click();
    await row('manual.md').waitFor({ state: 'detached' });
  });

  it('shows waiting and running files live without polling, also after a change of the tab or a reload', async () => {
    embedder.hold();
    for (const name of ['first.md', 'second.md']) {
      await choose([file(name)]);
      await hasState(name, 'Processing');
    }
    await page.getByText('0 of 2 documents are done.').waitFor();
    // The last event refreshes the lists once.
    await page.clock.runFor(60_000);
    await test.call('GET', path.replace('/', '/v1/'));
    const requests: string[] = [];
    const note = (request: { url(): string }) => requests.push(request.url());
    page.on('request', note);
    await page.clock.runFor(60_000);
    page.off('request', note);
    const polled = requests.filter((url) => !url.includes('/v1/alerts'));
    assert.deepEqual(polled, [], 'only alerts are polled');
    // An organization has two jobs at a time.
    await choose([file('third.md')]);
    await hasState('third.md', 'Queued');
    await page.getByRole('tab', { name: 'Ingestion jobs' }).click();
    await page.getByRole('tab', { name: 'Documents' }).click();
    await hasState('third.md', 'Queued');
    const reloaded = await page.context().newPage();
    await reloaded.goto(test.service.url + path);
    await reloaded.getByText('0 of 2 documents are done.').waitFor();
    embedder.answer();
    for (const name of ['first.md', 'second.md', 'third.md']) await hasState(name, 'Ready');
    await reloaded.getByRole('link', { name: 'third.md' }).waitFor();
    await reloaded.getByText('documents are done.').waitFor({ state: 'detached' });
    await reloaded.close();
  });

  it('shows why a document failed, and processes it again', async () => {
    embedder.reject();
    await choose([file('late.md'), file('broken.pdf', '%PDF-1.4 broken')]);
    await hasState('late.md', 'Failed');
    await row('late.md').getByText('Something went wrong on our side').waitFor();
    await hasState('broken.pdf', 'Failed');
    embedder.hold();
    await row('late.md').getByRole('button', { name: 'Retry: late.md' }).click();
    await hasState('late.md', 'Processing');
    embedder.answer();
    await hasState('late.md', 'Ready');
    await hasState('broken.pdf', 'Failed');
  });

  it('shows the states where no event stream can be opened', async () => {
    const opened = await page.context().newPage();
    await opened.route('**/ingestion-jobs/events', (route) => route.fulfill({ status: 503 }));
    await test.open(path, opened);
    await choose([file('polled.md')], opened);
    const ready = row('polled.md', opened).getByText('Ready', { exact: true });
    while (!(await ready.isVisible())) await opened.clock.runFor(3_000);
    await opened.close();
  });

  it('takes the files of a dropped folder with their relative paths, without hidden files', async () => {
    file('guides/pumps/bilge.md');
    file('guides/.hidden/secret.md');
    file('guides/map.psd');
    const box = await page.getByText('Drop files or a folder here').boundingBox();
    assert.ok(box);
    const session = await page.context().newCDPSession(page);
    const data = { items: [], files: [join(folder, 'guides')], dragOperationsMask: 1 };
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const) {
      await session.send('Input.dispatchDragEvent', { type, x: box.x + 5, y: box.y + 5, data });
    }
    await row('guides/map.psd').getByText('Not accepted', { exact: true }).waitFor();
    await hasState('guides/pumps/bilge.md', 'Ready');
    assert.equal(await page.getByText('secret.md').count(), 0);
    await page.getByRole('link', { name: 'guides/pumps/bilge.md' }).waitFor();
  });

  const chooseFolder = async (name: string) => {
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'Choose folder' }).click(),
    ]);
    await chooser.setFiles(join(folder, name));
  };

  it('takes the files of a chosen folder', async () => {
    file('charts/north.md');
    file('charts/.git/HEAD.md');
    await chooseFolder('charts');
    await hasState('charts/north.md', 'Ready');
    assert.equal(await row('charts/.git/HEAD.md').count(), 0);
  });

  it('takes no file of a folder with more than 1,000 files', async () => {
    for (let index = 0; index <= 1_000; index += 1) file(`archive/${index}.md`);
    await chooseFolder('archive');
    await page.getByRole('alert').getByText('These are more than 1,000 files.').waitFor();
    assert.equal(await row('archive/0.md').count(), 0);
    await chooseFolder('charts');
    await page.getByText('These are more than').waitFor({ state: 'detached' });
  });

  it('rejects a file for its purpose in the dialog of the page Files', async () => {
    const opened = await page.context().newPage();
    await test.open('/files', opened);
    await opened.getByRole('button', { name: 'Upload file' }).click();
    const dialog = opened.getByRole('dialog');
    const submit = dialog.getByRole('button', { name: 'Upload file' });
    await dialog.getByText('up to 536.9 MB per file').waitFor();
    await dialog.locator('input[type=file]').setInputFiles(file('empty.txt', ''));
    await dialog.getByText('Not uploaded: the file is empty.').waitFor();
    await dialog.locator('input[type=file]').setInputFiles(file('notes.txt'));
    await dialog.getByText('Not uploaded').waitFor({ state: 'detached' });
    assert.ok(await submit.isEnabled());
    await dialog.getByRole('combobox', { name: 'Purpose' }).click();
    await opened.getByRole('option', { name: 'batch' }).click();
    await dialog.getByText('Accepted: .jsonl.').waitFor();
    assert.ok(await submit.isDisabled());
    assert.deepEqual(await accessibilityViolations(opened), []);
    await opened.close();
  });

  it('has no accessibility violation in either theme, and fits a phone', async () => {
    await choose([file('photo.psd'), file('empty.md', '')]);
    const found: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      found.push(...(await accessibilityViolations(page)));
    }
    assert.deepEqual(found, []);
    const phone = await test.newPage({ viewport: { width: 390, height: 844 } });
    await phone.context().addCookies(await page.context().cookies());
    await test.open(path, phone);
    await choose([file('photo.psd'), file(`${'long-name-'.repeat(9)}.md`, ''), file('broken.pdf', '%PDF-1.4')], phone);
    await hasState('broken.pdf', 'Failed', phone);
    assert.deepEqual(await accessibilityViolations(phone), []);
    for (const element of ['document.documentElement', "document.querySelector('[aria-label=Uploads]')"]) {
      assert.equal(await phone.evaluate(`${element}.scrollWidth - ${element}.clientWidth`), 0, element);
    }
    await phone.context().close();
  });

  it('speaks German', async () => {
    const german = await test.newPage({ locale: 'de-DE' });
    await german.context().addCookies(await page.context().cookies());
    await test.open(path, german);
    await german.getByText('bis zu 536,9 MB je Datei').waitFor();
    await choose([file('photo.psd'), file('empty.md', ''), file('neu.md')], german);
    await row('photo.psd', german).getByText('Dateien dieses Typs werden nicht angenommen').waitFor();
    await row('empty.md', german).getByText('Die Datei ist leer').waitFor();
    await hasState('neu.md', 'Bereit', german);
    await german.context().close();
  });

  it('has no script error', () => assert.deepEqual(test.errors, []));
});

/** An embedding server that answers, rejects documents, or holds them until it answers again. */
async function startEmbedder() {
  let mode: 'answer' | 'hold' | 'reject' = 'answer';
  let released = Promise.withResolvers<void>();
  const server: TestServer = await startServer(async ({ path, body }, response) => {
    const input = body?.['input'];
    const texts = Array.isArray(input) ? input : [input];
    if (!path.endsWith('/embeddings')) return sendJson(response, 404, { error: { message: 'unknown path' } });
    const isDocument = texts.some((text) => String(text).includes('berth'));
    if (isDocument && mode === 'hold') await released.promise;
    if (isDocument && mode === 'reject') return sendJson(response, 400, { error: { message: 'no' } });
    const data = texts.map((_, index) => ({ object: 'embedding', index, embedding: VECTOR }));
    sendJson(response, 200, { object: 'list', data, model: 'test', usage: { prompt_tokens: 1, total_tokens: 1 } });
  });
  return {
    server,
    hold: () => {
      mode = 'hold';
      released = Promise.withResolvers<void>();
    },
    reject: () => {
      mode = 'reject';
    },
    answer: () => {
      mode = 'answer';
      released.resolve();
    },
  };
}

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { CONNECTOR_SERVICES } from '../fixtures/connector-services.ts';
import {
  accessibilityViolations,
  type ConsoleTest,
  chooseAction,
  inspectPage,
  SKIP_WITHOUT_CONSOLE,
  startConsole,
} from './console-page.ts';

const SCRIPT = '<img src=x onerror=alert(1)>';
const MANUAL = `---
author: ${SCRIPT}
year: 2024
---
# Harbour manual

## Opening hours

The office is open from 8:00 to 18:00 on weekdays. ${SCRIPT.replaceAll('<', '&lt;')}

## Fees

A berth for a boat of up to 10 metres costs 24 euros per night.
`;
const PUMP = '---\nyear: 2019\n---\n# Pump\n\nThe pump of the berth starts at 3 bar.\n';

describe('knowledge bases in the console', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let page: Page;
  let folder: string;
  let kbId: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'quire-browser-'));
    test = await startConsole({ env: { QUIRE_ALLOW_PRIVATE_HOSTS: '127.0.0.1' } });
    page = test.page;
  });
  after(async () => {
    await test?.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const file = (name: string, content: string) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  };
  const dialog = () => page.getByRole('dialog');

  it('creates a knowledge base with its chunking, and shows the error of the API', async () => {
    await test.open('/knowledge-bases');
    await page.getByRole('button', { name: 'Create knowledge base' }).first().click();
    await dialog().getByLabel('Name').fill(`Harbour ${SCRIPT}`);
    await dialog().getByLabel('Description').fill(SCRIPT);
    await dialog().getByLabel('Embedding model').fill('nothing');
    await dialog().getByLabel('Chunk size').fill('64');
    await dialog().getByRole('button', { name: 'Create', exact: true }).click();
    await dialog().getByRole('alert').waitFor();
    await dialog().getByLabel('Embedding model').fill('');
    await dialog().getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Harbour' }).waitFor();
    kbId = /knowledge-bases\/(kb_\w+)/.exec(page.url())?.[1] ?? '';
    // The id for OpenAI's clients.
    await page.getByText(kbId.replace('kb_', 'vs_'), { exact: true }).waitFor();
    const base = await test.call<{ chunking_strategy: object }>('GET', `/v1/knowledge-bases/${kbId}`);
    assert.deepEqual(base.chunking_strategy, { type: 'recursive', chunk_size: 64, chunk_overlap: 8 });
  });

  it('ingests uploaded files and shows them by status and name', async () => {
    await page
      .locator('input[type=file]')
      .setInputFiles([file('manual.md', MANUAL), file(`pump ${SCRIPT.replace('/', '')}.md`, PUMP)]);
    await page.getByRole('cell', { name: 'completed' }).nth(1).waitFor({ timeout: 60_000 });
    await page.getByLabel('Search documents by name').fill('PUMP');
    await page.getByRole('link', { name: 'manual.md' }).waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'pump' }).waitFor();
    assert.match(page.url(), /q=PUMP/);
    await test.open(`/knowledge-bases/${kbId}?status=failed`);
    await page.getByText('Nothing matches these filters.').waitFor();
  });

  it('shows jobs live by an event stream, and the errors of their documents', async () => {
    const polls: string[] = [];
    const note = (request: { url(): string }) => polls.push(request.url());
    await test.open(`/knowledge-bases/${kbId}?tab=jobs`);
    page.on('request', note);
    await page.waitForTimeout(2_500);
    page.off('request', note);
    assert.deepEqual(polls, [], 'nothing is polled while nothing happens');
    await page.getByText('2 of 2 documents').waitFor();
    const form = { filename: 'broken.pdf', content: '%PDF-1.4 broken' };
    const fileId = await page.evaluate(async ({ filename, content }) => {
      const data = new FormData();
      data.append('purpose', 'knowledge-base');
      data.append('file', new File([content], filename));
      return ((await (await fetch('/v1/files', { method: 'POST', body: data })).json()) as { id: string }).id;
    }, form);
    await test.call('POST', `/v1/knowledge-bases/${kbId}/data-sources`, {
      type: 'file_upload',
      name: 'Broken',
      config: { file_ids: [fileId] },
    });
    await page.getByRole('button', { name: '1 failed' }).click({ timeout: 60_000 });
    await page.getByRole('link', { name: 'broken.pdf' }).waitFor();
  });

  it('adds a data source after a test of the connection, and shows errors at their fields', async () => {
    const service = await CONNECTOR_SERVICES['s3']!(10);
    after(() => service.close());
    service.put('policy', 'Berths are free in winter.');
    const { endpoint } = service.config;
    await test.open(`/knowledge-bases/${kbId}?tab=sources`);
    await page.getByRole('button', { name: 'Add data source' }).click();
    await dialog().getByLabel('Search kinds of data sources').fill('BUCKET');
    await dialog().getByRole('button', { name: 'Notion' }).waitFor({ state: 'detached' });
    assert.equal(await dialog().locator('.choice-card').count(), 2);
    assert.deepEqual(await inspectPage(page), []);
    await dialog().getByRole('button', { name: 'Amazon S3' }).click();
    await dialog().getByLabel('Name', { exact: true }).fill('Policies');
    await dialog().getByRole('textbox', { name: 'Bucket' }).fill('NOT A BUCKET');
    await dialog().getByLabel('Endpoint').fill(String(endpoint));
    await dialog().getByLabel('Access key ID').fill('AKIA1');
    await dialog().getByLabel('Secret access key').fill('secret-value');
    assert.equal(await dialog().getByLabel('Secret access key').getAttribute('type'), 'password');
    await dialog().getByRole('button', { name: 'Test connection' }).click();
    await dialog().getByRole('alert').waitFor();
    assert.equal(await dialog().getByRole('textbox', { name: 'Bucket' }).getAttribute('aria-invalid'), 'true');
    await dialog().getByRole('textbox', { name: 'Bucket' }).fill('bucket');
    await dialog().getByRole('button', { name: 'Test connection' }).click();
    await dialog().getByText('policy.txt').waitFor();
    const { data: stored } = await test.call<{ data: object[] }>('GET', `/v1/knowledge-bases/${kbId}/data-sources`);
    assert.deepEqual(await accessibilityViolations(page), []);
    await dialog().getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByText('Policies').first().waitFor({ timeout: 30_000 });
    await chooseAction(page, 'Edit: Policies');
    assert.equal(await dialog().getByLabel('Secret access key').inputValue(), '');
    await dialog().getByRole('button', { name: 'Test connection' }).click();
    await dialog().getByText('policy.txt').waitFor();
    await dialog().getByRole('button', { name: 'Cancel' }).click();
    const { data: created } = await test.call<{ data: object[] }>('GET', `/v1/knowledge-bases/${kbId}/data-sources`);
    assert.equal(created.length, stored.length + 1);
    assert.ok(!(await page.content()).includes('secret-value'));
  });

  for (const label of [
    'Web site',
    'Google Cloud Storage',
    'Confluence',
    'Notion',
    'Google Drive',
    'Uploaded files',
    'Amazon S3',
  ]) {
    it(`shows the fields of the type ${label} without accessibility violation`, async () => {
      await test.open(`/knowledge-bases/${kbId}?tab=sources`);
      await page.getByRole('button', { name: 'Add data source' }).click();
      await dialog().getByRole('button', { name: label }).click();
      await dialog().getByLabel('Metadata').waitFor();
      const section = new URL(
        (await dialog().getByRole('link', { name: 'Guide' }).getAttribute('href')) ?? '',
        page.url(),
      );
      assert.ok((await (await fetch(section)).text()).includes(`id="${section.hash.slice(1)}"`), section.href);
      assert.deepEqual(await accessibilityViolations(page), []);
    });
  }

  it('searches files by name on the server', async () => {
    await test.open('/files');
    await page.getByText('manual.md').waitFor();
    await page.getByLabel('Search files by name').fill('BROKEN');
    await page.getByText('manual.md').waitFor({ state: 'detached' });
    await page.getByText('broken.pdf').waitFor();
    assert.match(page.url(), /q=BROKEN/);
  });

  it('searches with filters, shows component scores and marked terms, and links to the chunk', async () => {
    await test.open(`/knowledge-bases/${kbId}?tab=search`);
    await page.getByLabel('Query').fill('berth price');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.locator('mark', { hasText: 'berth' }).nth(1).waitFor();
    assert.equal(
      await page.getByRole('progressbar', { name: 'Vector' }).count(),
      await page.locator('ol > li').count(),
    );
    await page.getByRole('button', { name: 'Filters' }).click();
    await page.getByRole('button', { name: 'Add filter' }).click();
    await page.getByRole('combobox', { name: 'Field' }).or(page.getByLabel('Field')).first().fill('year');
    await page
      .getByRole('textbox', { name: 'Operator' })
      .or(page.getByRole('combobox', { name: 'Operator' }))
      .first()
      .click();
    await page.getByRole('option', { name: 'at least' }).click();
    await page.getByRole('textbox', { name: 'Value', exact: true }).fill('2020');
    assert.match((await page.getByLabel('Filters as JSON').textContent()) ?? '', /"\$gte": 2020/);
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.locator('ol > li', { hasText: 'pump' }).first().waitFor({ state: 'detached' });
    await page.locator('ol > li').first().waitFor();
    await page.getByRole('button', { name: 'As curl' }).click();
    await page.getByText('"include_scores": true').waitFor();
    await page.getByRole('link', { name: 'manual.md' }).first().click();
    await page.locator('[aria-current=true]').first().waitFor();
  });

  it('shows the chunks on the text of a document, each with a link of its own', async () => {
    await test.open(`/knowledge-bases/${kbId}`);
    await page.getByRole('link', { name: 'manual.md' }).click();
    const text = page.locator('.document-text');
    assert.equal((await text.textContent())?.split('24 euros per night').length, 2, 'no text appears twice');
    await page.getByRole('link', { name: 'Chunk 1', exact: true }).click();
    await text.locator('[aria-current=true]', { hasText: 'Harbour manual' }).waitFor();
    assert.match(page.url(), /chunk=chunk_/);
    await page.getByRole('row', { name: 'year 2024' }).waitFor();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download' }).click(),
    ]);
    assert.equal(download.suggestedFilename(), 'manual.md');
    await page.locator('.page-head').getByRole('button', { name: 'Actions' }).click();
    for (const name of ['Download', 'Process again', 'Delete']) {
      await page.getByText(name, { exact: true }).hover();
      assert.deepEqual(await accessibilityViolations(page), [], `${name} under the pointer`);
    }
  });

  it('uploads a file, and filters the files by purpose', async () => {
    await test.open('/files');
    await page.getByRole('button', { name: 'Upload file' }).click();
    await dialog()
      .locator('input[type=file]')
      .setInputFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Notes of the harbour.') });
    assert.deepEqual(await accessibilityViolations(page), []);
    await dialog().getByRole('button', { name: 'Upload file' }).click();
    await page.getByRole('cell', { name: 'notes.txt', exact: true }).waitFor();
    await page.getByRole('combobox', { name: 'Purpose' }).click();
    await page.getByRole('option', { name: 'batch' }).click();
    await page.getByText('Nothing matches these filters.').waitFor();
    assert.match(page.url(), /purpose=batch/);
  });

  it('cancels an upload, and repeats it', async () => {
    await test.open(`/knowledge-bases/${kbId}`);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/v1/files', async (route) => {
      await held;
      await route.continue().catch(() => {});
    });
    await page.locator('input[type=file]').setInputFiles(file('late.md', '# Late\n\nA late document.\n'));
    await page.getByRole('button', { name: 'Cancel: late.md' }).click();
    await page.getByText('Cancelled').waitFor();
    await page.unroute('**/v1/files');
    release();
    await page.getByRole('button', { name: 'Retry' }).click();
    await page.getByRole('link', { name: 'late.md' }).waitFor({ timeout: 60_000 });
  });

  it('names the data sources that a deletion of the knowledge base removes', async () => {
    await page.locator('.page-head').getByRole('button', { name: 'Actions' }).click();
    await page.getByRole('menuitem', { name: 'Delete knowledge base' }).click();
    await dialog().getByText('(file_upload)').first().waitFor();
    await dialog().getByRole('button', { name: 'Cancel' }).click();
  });

  it('has no accessibility violation on the tabs, and nothing wider than a phone', async () => {
    const found: string[] = [];
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      for (const tab of ['documents', 'sources', 'jobs', 'search']) {
        await test.open(`/knowledge-bases/${kbId}?tab=${tab}`);
        found.push(...(await accessibilityViolations(page)).map((violation) => `${colorScheme} ${tab} ${violation}`));
      }
    }
    assert.deepEqual(found, []);
    await page.setViewportSize({ width: 390, height: 844 });
    for (const path of ['', `/${kbId}`, `/${kbId}?tab=sources`, `/${kbId}?tab=jobs`, `/${kbId}?tab=search`]) {
      await test.open(`/knowledge-bases${path}`);
      const overflow = await page.evaluate(
        'document.documentElement.scrollWidth - document.documentElement.clientWidth',
      );
      assert.equal(overflow, 0, path);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  it('runs no script of a name, metadata or document', () => {
    assert.deepEqual(test.errors, []);
  });
});

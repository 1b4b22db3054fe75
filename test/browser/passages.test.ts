import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { column, makePdf } from '../fixtures/documents-pdf.ts';
import {
  accessibilityViolations,
  type ConsoleTest,
  inspectPage,
  SKIP_WITHOUT_CONSOLE,
  startConsole,
} from './console-page.ts';

const TOPICS = ['office', 'crane', 'museum', 'ferry', 'chapel', 'library', 'bakery', 'lighthouse', 'school', 'market'];
const HARBOUR = makePdf([
  column(
    [
      'Harbour handbook',
      '',
      ...TOPICS.map((topic, i) => `The ${topic} of Skelby is open from ${i + 2} to ${i + 9} on weekdays.`),
    ],
    72,
    700,
    14,
  ),
  column(
    [
      'Fees',
      '',
      'A berth for a boat of up to 10 metres',
      'costs 24 euros per night.',
      '',
      'Dogs are welcome on every pier of Skelby.',
    ],
    72,
    700,
    14,
  ),
]);
const COSTS = `item,euros\n${Array.from({ length: 40 }, (_, i) => `Rope number ${i},${i + 1}`).join('\n')}\nAnchor of steel,512\n`;

describe('passages in the console', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let page: Page;
  let folder: string;
  let kbId: string;

  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'quire-browser-'));
    test = await startConsole();
    page = test.page;
    kbId = (await test.call<{ id: string }>('POST', '/v1/knowledge-bases', { name: 'Harbour' })).id;
    await test.open(`/knowledge-bases/${kbId}`);
    writeFileSync(join(folder, 'harbour.pdf'), HARBOUR);
    writeFileSync(join(folder, 'costs.csv'), COSTS);
    const files = ['harbour.pdf', 'costs.csv'].map((name) => join(folder, name));
    await page.locator('input[type=file]').setInputFiles(files);
    await page.getByRole('cell', { name: 'completed' }).nth(1).waitFor({ timeout: 120_000 });
  });
  after(async () => {
    await test?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const panel = () => page.getByRole('dialog');
  const image = () => panel().locator('img.page-image');
  const isLoaded = async () => {
    await image().waitFor();
    assert.ok(
      await image().evaluate((element) =>
        (element as unknown as { decode(): Promise<void> }).decode().then(() => true),
      ),
    );
  };
  const search = async (query: string) => {
    await test.open(`/knowledge-bases/${kbId}?tab=search`);
    await page.getByLabel('Query').fill(query);
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByRole('button', { name: 'Show passage' }).first().waitFor();
  };

  it('shows the page of a PDF with the cited passage marked, and its text, beside the answer', async () => {
    await test.open(`/playground?model=general-8b&kb=${kbId}`);
    await page.getByLabel('Ask something').fill('What does a berth cost per night?');
    await page.keyboard.press('Enter');
    await page.getByText('Sources', { exact: true }).waitFor();
    await page.locator('.markdown').getByRole('button', { name: '1', exact: true }).last().click();
    await isLoaded();
    // The chunk begins on the first page, the passage is on the second.
    await panel().getByRole('img', { name: 'Page 2' }).waitFor();
    await panel().locator('mark.passage', { hasText: '24 euros' }).waitFor();
    assert.equal(await panel().locator('mark.passage', { hasText: 'lighthouse' }).count(), 0);
    assert.equal(await page.getByText('The passage is not on this page.').count(), 0);
    assert.deepEqual(await accessibilityViolations(page), []);
  });

  it('turns pages and closes by keyboard', async () => {
    await panel().getByRole('button', { name: 'Previous page' }).focus();
    await page.keyboard.press('Enter');
    await panel().getByRole('img', { name: 'Page 1' }).waitFor();
    await panel().getByText('The passage is not on this page.').waitFor();
    await page.keyboard.press('Escape');
    await panel().waitFor({ state: 'detached' });
  });

  it('shows the page of a search result, and where a document ends', async () => {
    await search('berth per night');
    await page
      .getByRole('listitem')
      .filter({ hasText: 'harbour.pdf' })
      .getByRole('button', { name: 'Show passage' })
      .click();
    await isLoaded();
    await panel().getByRole('button', { name: 'Next page' }).click();
    await panel().getByRole('img', { name: 'Page 2' }).waitFor();
    await panel().getByRole('button', { name: 'Next page' }).click();
    await panel().getByRole('alert').waitFor();
    assert.ok(await panel().getByRole('button', { name: 'Next page' }).isDisabled());
    await panel().getByRole('button', { name: 'Previous page' }).click();
    await panel().getByRole('img', { name: 'Page 2' }).waitFor();
  });

  it('shows the rows of a table, with their cells, instead of a page', async () => {
    await search('Anchor of steel');
    await page
      .getByRole('listitem')
      .filter({ hasText: 'costs.csv' })
      .first()
      .getByRole('button', { name: 'Show passage' })
      .click();
    await panel().locator('mark.passage', { hasText: 'Anchor of steel | 512' }).waitFor();
    await panel()
      .getByText(/A\d+:B\d+/)
      .first()
      .waitFor();
    assert.equal(await image().count(), 0);
    assert.deepEqual(await inspectPage(page), []);
  });

  it('runs no script of a document', () => assert.deepEqual(test.errors, []));
});

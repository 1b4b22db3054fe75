/**
 * Times the first five minutes in the console: from the printed link to an answer that cites an uploaded PDF. The
 * waiting is measured; the reading and typing of a person is not. `npm run bench:console:answer`; see bench/README.md.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startConsole } from '../../test/browser/console-page.ts';
import { useEmbeddedDatabases } from '../../test/spawned-service.ts';
import { renderTable } from '../harness/text-table.ts';

const PDF = join(import.meta.dirname, '../../examples/harbour/handbook.pdf');
const QUESTION = 'What do three short tones of the siren mean?';
const ANSWER_LIMIT_MS = 120_000;

useEmbeddedDatabases();
const startedAt = performance.now();
const test = await startConsole();
const rows: string[][] = [];
try {
  const { page } = test;
  let last = startedAt;
  const step = (name: string) => {
    const now = performance.now();
    rows.push([name, ((now - last) / 1000).toFixed(1), ((now - startedAt) / 1000).toFixed(1)]);
    last = now;
  };
  step('First start of the service and of Chromium; account created by the printed link');
  await page.goto(`${test.service.url}/knowledge-bases`);
  await page.getByRole('button', { name: 'Create knowledge base' }).first().click();
  await page.getByRole('textbox', { name: 'Name' }).fill('Harbour');
  await page.getByRole('button', { name: 'Create', exact: true }).click();
  await page.getByRole('heading', { level: 1, name: 'Harbour' }).waitFor();
  step('Knowledge base created');
  const file = { name: 'handbook.pdf', mimeType: 'application/pdf', buffer: readFileSync(PDF) };
  await page.locator('input[type=file]').first().setInputFiles(file);
  await page.getByRole('cell', { name: 'completed' }).first().waitFor({ timeout: ANSWER_LIMIT_MS });
  step('PDF uploaded and ingested');
  await page.getByRole('link', { name: 'Ask in the playground' }).click();
  await page.getByLabel('Ask something').fill(QUESTION);
  await page.keyboard.press('Enter');
  await page.getByText('Sources').first().waitFor({ timeout: ANSWER_LIMIT_MS });
  await page.getByRole('button', { name: 'handbook.pdf' }).first().waitFor();
  step('Answer with a citation of the PDF');
} finally {
  await test.close();
}
const columns = ['Step', 'Seconds', 'Since the start, s'];
console.log(renderTable({ title: 'From the printed link to an answer with a citation', columns, rows }));

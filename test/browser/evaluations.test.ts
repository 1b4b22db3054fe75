import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { accessibilityViolations, type ConsoleTest, SKIP_WITHOUT_CONSOLE, startConsole } from './console-page.ts';

const SCRIPT = '<img src=x onerror=alert(1)>';
const HOURS = '# Library\n\nThe library in Ashford opens at nine.\n\n# Pool\n\nThe pool is heated to 27 degrees.\n';
const LINES = [
  { question: 'How warm is the pool?', facts: [['27', 'twenty-seven'], 'degrees'], document: 'hours.md' },
  { question: `Who is the mayor ${SCRIPT}?`, unanswerable: true },
];

describe('evaluations in the console', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let page: Page;
  let kbId: string;
  before(async () => {
    test = await startConsole();
    page = test.page;
    kbId = await test.createKnowledgeBase('Town', { name: 'hours.md', text: HOURS });
  });
  after(async () => {
    await test?.close();
  });
  const dialog = () => page.getByRole('dialog');
  const field = (name: string) => dialog().getByRole('combobox', { name }).or(dialog().getByLabel(name)).first();
  const screenshot = async (name: string) => {
    const target = process.env['QUIRE_SCREENSHOTS'];
    if (target !== undefined) await page.screenshot({ path: join(target, `${name}.png`) });
  };
  const runs = () => page.getByRole('table', { name: 'Runs' }).getByRole('row');

  it('edits a question set as a table and as JSON lines', async () => {
    await test.open(`/knowledge-bases/${kbId}?tab=evaluations`);
    await page.getByRole('button', { name: 'New question set' }).click();
    await dialog().getByLabel('Name').fill(`Hours ${SCRIPT}`);
    await dialog().getByLabel('Question 1').fill('When does the library in Ashford open?');
    await dialog().getByLabel('Expected facts 1').fill('nine');
    await dialog().getByRole('tab', { name: 'JSON lines' }).click();
    const lines = dialog().getByRole('textbox', { name: 'JSON lines' });
    const first = await lines.inputValue();
    assert.deepEqual(JSON.parse(first), { question: 'When does the library in Ashford open?', answer: 'nine' });
    await lines.fill(`${first}\n{"question"`);
    await dialog().getByText('Line 2 is not a question.').waitFor();
    assert.ok(await dialog().getByRole('button', { name: 'Save' }).isDisabled());
    await lines.fill([first, ...LINES.map((line) => JSON.stringify(line))].join('\n'));
    await dialog().getByRole('tab', { name: 'Questions' }).click();
    assert.equal(await dialog().getByLabel('Expected facts 2').inputValue(), '27 | twenty-seven\ndegrees');
    assert.ok(await dialog().getByLabel('Not in the documents 3').isChecked());
    await field('Model that answers').click();
    await page.getByRole('option', { name: 'general-8b' }).click();
    assert.deepEqual(await accessibilityViolations(page), []);
    await screenshot('question-set');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await page.getByRole('button', { name: 'Run: Hours' }).waitFor();
  });

  it('runs the set, shows its figures, and compares two runs by question', async () => {
    const run = page.getByRole('button', { name: 'Run: Hours' });
    const start = () => dialog().getByRole('button', { name: 'Run' }).click();
    await run.click();
    assert.equal(await field('Model that answers').inputValue(), 'general-8b');
    await start();
    await runs().nth(1).getByText('Completed').waitFor({ timeout: 60_000 });
    await run.click();
    await dialog().getByLabel('Weight of the meaning').fill('0.3');
    await dialog().getByLabel('Passages in the prompt').fill('3');
    await field('Model that scores the answers').click();
    await page.getByRole('option', { name: 'general-70b' }).click();
    assert.deepEqual(await accessibilityViolations(page), []);
    await screenshot('run-dialog');
    await start();
    await runs().nth(2).waitFor();
    await runs().nth(1).getByText('Weight of the meaning: 0.3 · Passages in the prompt: 3').waitFor();
    await runs().nth(1).getByText('No clear difference').waitFor({ timeout: 60_000 });
    await screenshot('runs');
    assert.deepEqual(await accessibilityViolations(page), []);
    await runs().nth(1).getByRole('button', { name: 'Show: Hours' }).click();
    await dialog().getByText('Evidence in the first 5').waitFor();
    await dialog().getByText('general-70b').waitFor();
    await dialog().getByText('A model scored the answers of this run only').waitFor();
    await dialog().getByText('No question has a difference.').waitFor();
    await dialog().getByRole('switch').click();
    await dialog().getByText('Who is the mayor').waitFor();
    await dialog()
      .getByText(/^(Scored as|No valid score)/)
      .first()
      .waitFor();
    assert.deepEqual(await accessibilityViolations(page), []);
    await screenshot('comparison');
    await page.keyboard.press('Escape');
    await dialog().waitFor({ state: 'detached' });
  });

  it('adds a question of the playground to the set', async () => {
    await test.open(`/playground?kb=${kbId}`);
    await page.getByLabel('Ask something').fill('When does the pool open?');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Add to evaluation' }).click({ timeout: 60_000 });
    assert.equal(await dialog().getByRole('textbox', { name: 'Question' }).inputValue(), 'When does the pool open?');
    await dialog()
      .getByRole('combobox', { name: 'Question set' })
      .or(dialog().getByLabel('Question set'))
      .first()
      .click();
    await page.getByRole('option', { name: 'Hours' }).click();
    // The answer is shortened to the expected facts.
    assert.match(await dialog().getByLabel('Expected facts').inputValue(), /\bpool\b/i);
    await dialog().getByLabel('Expected facts').fill('seven');
    await screenshot('add-question');
    await dialog().getByRole('button', { name: 'Save' }).click();
    await dialog().waitFor({ state: 'detached' });
    const path = `/v1/knowledge-bases/${kbId}/question-sets`;
    const { data } = await test.call<{ data: { id: string }[] }>('GET', path);
    const set = await test.call<{ questions: object[] }>('GET', `${path}/${data[0]?.id}`);
    assert.deepEqual(set.questions[3], { question: 'When does the pool open?', answer: 'seven' });
  });

  it('speaks German', async () => {
    const german = await test.newPage({ locale: 'de-DE', storageState: await page.context().storageState() });
    await test.open(`/knowledge-bases/${kbId}?tab=evaluations`, german);
    await german.getByRole('button', { name: 'Neuer Fragensatz' }).waitFor();
  });
});

/**
 * Twelve tasks of a person who has never seen the console, found by visible names only. The numbers of clicks and
 * entries are those of the table in docs/develop/console-design.md. `QUIRE_TRACES=FOLDER` records each task for
 * `npx playwright-core show-trace`.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { until } from '../deadline.ts';
import { type ConsoleTest, SKIP_WITHOUT_CONSOLE, startConsole, waitForValue } from './console-page.ts';
import { CITED_SENTENCE, startPlaygroundUpstream } from './playground-upstream.ts';

const TRACES = process.env['QUIRE_TRACES'];
const DESIGN = new URL('../../docs/develop/console-design.md', import.meta.url);
const MANUAL = `# Harbour manual\n\n## Winter\n\n${CITED_SENTENCE} The crane works on Mondays.\n`;
const MODEL = 'scripted';

/** Clicks and entries by task, as documented. */
const STATED = new Map(
  [...readFileSync(DESIGN, 'utf8').matchAll(/^\| \d+ \| ([^|]+) \| (\d+) \| (\d+) \|/gm)].map(
    ([, task = '', clicks, entries]) => [task, { clicks: Number(clicks), entries: Number(entries) }] as const,
  ),
);

/** A person with mouse and keyboard. */
class Person {
  readonly page: Page;
  clicks = 0;
  /** Texts that are typed, keys that are pressed and files that are chosen. */
  entries = 0;

  constructor(page: Page) {
    this.page = page;
  }

  async click(target: Locator): Promise<void> {
    this.clicks += 1;
    await target.click();
  }

  /** Clicks the link of the sidebar. */
  async visit(name: string): Promise<void> {
    const sidebar = this.page.getByRole('navigation', { name: 'Quire' });
    await this.click(sidebar.getByRole('link', { name, exact: true }));
    await this.page.getByRole('heading', { level: 1 }).filter({ hasText: name }).waitFor();
  }

  async press(name: string | RegExp, scope: Page | Locator = this.page): Promise<void> {
    await this.click(scope.getByRole('button', { name, ...(typeof name === 'string' && { exact: true }) }).first());
  }

  async type(target: Locator, text: string): Promise<void> {
    this.entries += 1;
    await target.fill(text);
  }

  async key(name: string): Promise<void> {
    this.entries += 1;
    await this.page.keyboard.press(name);
  }
}

describe('twelve tasks', { skip: SKIP_WITHOUT_CONSOLE }, () => {
  let test: ConsoleTest;
  let upstream: Awaited<ReturnType<typeof startPlaygroundUpstream>>;
  const folder = mkdtempSync(join(tmpdir(), 'quire-browser-'));
  let kbId: string;
  let requestId: string;

  before(async () => {
    upstream = await startPlaygroundUpstream();
    test = await startConsole({
      config: `models:\n  ${MODEL}:\n    engine: upstream\n    base_urls: ${upstream.baseUrl}\n    pricing: { prompt: 100, completion: 100, unit: per_1k_tokens }\n`,
    });
    writeFileSync(join(folder, 'manual.md'), MANUAL);
    kbId = await test.createKnowledgeBase('Town', { name: 'manual.md', text: MANUAL });
    requestId = await test.page.evaluate(async () => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ model: 'no-such-model', messages: [{ role: 'user', content: 'Hi' }] });
      const response = await fetch('/v1/chat/completions', { method: 'POST', headers, body });
      return response.headers.get('x-request-id') ?? '';
    });
    await test.call('POST', '/v1/guardrail-policies', { name: 'No competitors', enabled: false });
    await prepareEvaluations();
    for (const text of ['Hello moorings', 'Hello cranes']) {
      const { id } = await test.call<{ id: string }>('POST', '/v1/chats', {});
      await test.call('POST', `/v1/chats/${id}/messages`, { model: MODEL, text });
    }
  });
  after(async () => {
    await test?.close();
    await upstream?.close();
    rmSync(folder, { recursive: true, force: true });
    assert.deepEqual(test.errors, []);
  });

  /** Two finished runs of a question set, whose configurations differ. */
  async function prepareEvaluations(): Promise<void> {
    const base = `/v1/knowledge-bases/${kbId}`;
    const questions = [{ question: 'What does a mooring cost?', answer: '310' }];
    const { id } = await test.call<{ id: string }>('POST', `${base}/question-sets`, { name: 'Prices', questions });
    for (const top_k of [5, 3]) {
      const body = { question_set_id: id, configuration: { top_k } };
      const run = await test.call<{ id: string }>('POST', `${base}/evaluations`, body);
      const isDone = async () =>
        (await test.call<{ status: string }>('GET', `${base}/evaluations/${run.id}`)).status === 'completed';
      await until(isDone);
    }
  }

  /** A task that starts on the first page, with the same names as in the table. */
  const task = (name: string, act: (person: Person) => Promise<void>) =>
    it(name, async () => {
      const { page } = test;
      const { tracing } = page.context();
      page.setDefaultTimeout(20_000);
      await test.open('/');
      if (TRACES !== undefined) await tracing.start({ screenshots: true, snapshots: true });
      const person = new Person(page);
      try {
        await act(person);
      } finally {
        if (TRACES !== undefined) await tracing.stop({ path: join(TRACES, `${name.replaceAll(' ', '-')}.zip`) });
      }
      assert.deepEqual({ clicks: person.clicks, entries: person.entries }, STATED.get(name));
    });

  const dialog = () => test.page.getByRole('dialog');
  const main = () => test.page.getByRole('main');

  it('are the twelve of the table', () => assert.equal(STATED.size, 12));

  task('Get the first answer from your own documents', async (person) => {
    const { page } = person;
    await person.visit('Knowledge bases');
    await person.press('Create knowledge base');
    await person.type(dialog().getByRole('textbox', { name: 'Name' }), 'Harbour');
    await person.press('Create', dialog());
    const choosing = page.waitForEvent('filechooser');
    await person.press(/^(Choose|Select|Upload) files?/, main());
    person.entries += 1;
    await (await choosing).setFiles(join(folder, 'manual.md'));
    await page.getByRole('cell', { name: 'completed' }).waitFor({ timeout: 120_000 });
    await person.click(page.getByRole('link', { name: 'Ask in the playground' }));
    await person.type(page.getByLabel('Ask something'), 'What does a mooring cost?');
    await person.key('Enter');
    await page.getByText('310 euros').first().waitFor({ timeout: 60_000 });
  });

  task('Find why a call failed by its request id', async (person) => {
    await person.visit('Requests');
    await person.type(main().getByRole('searchbox').or(main().getByLabel('Search')).first(), requestId);
    await person.click(main().getByRole('cell', { name: '404' }));
    await dialog().getByText('model_not_found').waitFor();
  });

  task('Make a key with a limit', async (person) => {
    await person.visit('API keys');
    await person.press('Create key');
    await person.type(dialog().getByLabel('Name'), 'support bot');
    await person.type(dialog().getByLabel('Requests per minute'), '60');
    await person.press('Create', dialog());
    await person.page.getByText(/^quire-sk-/).waitFor();
  });

  task('Invite a member', async (person) => {
    await person.visit('People');
    await person.press('Invite');
    await person.press('Invite', dialog());
    await person.page.getByText(/\/join#/).waitFor();
  });

  task('Add a web site as a data source', async (person) => {
    const { page } = person;
    await person.visit('Knowledge bases');
    await person.click(page.getByRole('link', { name: 'Town' }));
    await person.click(page.getByRole('tab', { name: /^Data sources/ }));
    await person.press('Add data source');
    await person.press(/^Web site/, dialog());
    await person.type(dialog().getByLabel('Name', { exact: true }), 'Wiki');
    await person.type(dialog().getByRole('combobox', { name: /^URLs/i }), 'https://wiki.example');
    await person.press('Create', dialog());
    await page.getByRole('cell', { name: 'Wiki' }).waitFor();
  });

  task('See the cost of the month', async (person) => {
    await person.visit('Usage');
    await waitForValue(main().getByRole('combobox', { name: 'Period' }), 'Last 30 days');
    await main()
      .getByText(/^\$0\.\d*[1-9]/)
      .first()
      .waitFor();
  });

  task('Block a topic in a policy', async (person) => {
    await person.visit('Guardrails');
    await person.press('Actions', main());
    await person.click(person.page.getByRole('menuitem', { name: 'Edit: No competitors' }));
    await person.press('Add topic', dialog());
    await person.type(dialog().getByLabel('Topic 1', { exact: true }), 'acme corp');
    await person.press('Save', dialog());
    await dialog().waitFor({ state: 'detached' });
  });

  task('Compare two evaluations', async (person) => {
    const { page } = person;
    await person.visit('Knowledge bases');
    await person.click(page.getByRole('link', { name: 'Town' }));
    await person.click(page.getByRole('tab', { name: /^Evaluations/ }));
    await person.press('Show: Prices');
    await dialog().getByText('Evidence in the first 5').waitFor();
    await dialog().getByText('No question has a difference.').waitFor();
  });

  task('Continue an earlier chat', async (person) => {
    const { page } = person;
    await person.visit('Chat');
    await person.click(page.getByRole('navigation', { name: 'Chats' }).getByText('moorings'));
    await page.getByText('You said: Hello moorings').waitFor();
    await person.type(page.getByLabel('Ask about your documents'), 'And the cranes?');
    await person.key('Enter');
    await page.getByText('You said: And the cranes?').waitFor();
  });

  task('Search a chat and pin it', async (person) => {
    const { page } = person;
    const list = page.getByRole('navigation', { name: 'Chats' });
    await person.visit('Chat');
    await person.press('Search chats');
    await person.type(page.getByLabel('Search chats').last(), 'Hello cranes');
    await person.click(list.getByText('cranes'));
    await page.getByRole('heading', { level: 1, name: /cranes/ }).waitFor();
    // The last menu belongs to the open chat.
    await person.click(main().getByRole('button', { name: 'Actions' }).last());
    await person.click(page.getByRole('menuitem', { name: /^Pin/ }));
    await list.getByText('Pinned').waitFor();
  });

  task('Add a model server', async (person) => {
    const { page } = person;
    await person.visit('Models');
    await person.click(page.getByRole('tab', { name: /^Servers/ }));
    await person.press('Add server');
    await person.type(dialog().getByLabel('Name'), 'GPU servers');
    await person.type(dialog().getByRole('combobox', { name: 'Base URLs' }), upstream.baseUrl);
    await person.key('Enter');
    await person.press('Create', dialog());
    await dialog().getByRole('button', { name: 'Test', exact: true }).waitFor();
  });

  task('Export the usage', async (person) => {
    await person.visit('Usage');
    const downloading = person.page.waitForEvent('download');
    await person.click(person.page.getByRole('link', { name: 'Download CSV' }));
    assert.equal((await downloading).suggestedFilename(), 'usage.csv');
  });
});

/**
 * Writes a screenshot of every page of the console to docs/images/console: light, dark, and at the width of a phone.
 * Starts a service on an empty folder with the documents of examples/harbour. Needs Chromium. Arguments are the names
 * of pages to repeat, such as `usage`.
 */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import OpenAI, { toFile } from 'openai';
import type { Page } from 'playwright-core';
import { type ConsoleTest, startConsole } from '../test/browser/console-page.ts';
import { useEmbeddedDatabases } from '../test/spawned-service.ts';

const ROOT = join(import.meta.dirname, '..');
const DOCUMENTS = join(ROOT, 'examples/harbour');
const FOLDER = join(ROOT, 'docs/images/console');
const WEBP_QUALITY = 82;
const POLL_MS = 250;
const VARIANTS = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1360, height: 850 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1360, height: 850 } },
  { name: 'phone', colorScheme: 'light', viewport: { width: 390, height: 844 } },
] as const;
const QUESTION = 'What do three short tones of the siren mean?';

/** What the pages show. */
interface ExampleData {
  knowledgeBaseId: string;
  documentId: string;
  batchId: string;
  keyId: string;
}

/** A page or page state: file name, path, and actions before navigation and before the screenshot. */
interface Shot {
  name: string;
  path(data: ExampleData): string;
  prepare?(page: Page): Promise<void>;
  act?(page: Page): Promise<void>;
}

const page = (name: string, path = `/${name}`): Shot => ({ name, path: () => path });

const SHOTS: readonly Shot[] = [
  page('sign-in'),
  page('start', '/'),
  { name: 'chat', path: () => '/chat', act: askInChat },
  page('overview'),
  { name: 'playground', path: ({ knowledgeBaseId }) => `/playground?kb=${knowledgeBaseId}`, act: ask },
  page('knowledge-bases'),
  { name: 'knowledge-base', path: ({ knowledgeBaseId }) => `/knowledge-bases/${knowledgeBaseId}` },
  {
    name: 'document',
    path: ({ knowledgeBaseId, documentId }) => `/knowledge-bases/${knowledgeBaseId}/documents/${documentId}`,
  },
  {
    name: 'data-sources',
    path: ({ knowledgeBaseId }) => `/knowledge-bases/${knowledgeBaseId}?tab=sources`,
  },
  { name: 'search-test', path: ({ knowledgeBaseId }) => `/knowledge-bases/${knowledgeBaseId}?tab=search`, act: search },
  {
    name: 'evaluations',
    path: ({ knowledgeBaseId }) => `/knowledge-bases/${knowledgeBaseId}?tab=evaluations`,
  },
  page('files'),
  page('batches'),
  { name: 'batch', path: ({ batchId }) => `/batches/${batchId}` },
  page('guardrails'),
  page('mcp-servers'),
  page('keys'),
  { name: 'key', path: ({ keyId }) => `/keys/${keyId}` },
  page('members'),
  page('usage'),
  page('prompts'),
  page('presets'),
  page('feedback'),
  page('alerts'),
  page('alert-channels', '/alerts/channels'),
  page('budgets', '/alerts/budgets'),
  {
    name: 'connectors',
    path: ({ knowledgeBaseId }) => `/knowledge-bases/${knowledgeBaseId}?tab=sources`,
    act: openGallery,
  },
  page('requests'),
  { name: 'request', path: () => '/requests', act: openRow },
  page('models'),
  page('servers', '/models?tab=servers'),
  page('cache'),
  page('audit'),
  page('organizations'),
  page('settings'),
  page('configuration', '/settings/instance'),
  page('reference', '/docs/guide/api/generate'),
  page('guide', '/docs/guide'),
  { name: 'palette', path: () => '/overview', act: openPalette },
  { name: 'state-form', path: () => '/keys', act: openForm },
  { name: 'state-empty', path: () => '/knowledge-bases', prepare: (opened) => fulfill(opened, 200, EMPTY_LIST) },
  {
    name: 'state-error',
    path: () => '/knowledge-bases',
    prepare: (opened) => fulfill(opened, 503, UNAVAILABLE),
    act: waitForError,
  },
  { name: 'state-loading', path: () => '/keys', act: loadForever },
  page('state-not-found', '/nothing'),
];
const EMPTY_LIST = { object: 'list', data: [], has_more: false, first_id: null, last_id: null };
const UNAVAILABLE = {
  error: { message: 'The database is not available.', type: 'server_error', param: null, code: 'x' },
};

useEmbeddedDatabases();
const named = new Set(process.argv.slice(2));
const test = await startConsole();
try {
  const data = await createExampleData(test);
  mkdirSync(FOLDER, { recursive: true });
  const cookies = await test.page.context().cookies();
  for (const { name: variant, ...options } of VARIANTS) {
    const opened = await test.newPage({ ...options, reducedMotion: 'reduce' });
    await opened.context().addCookies(cookies);
    for (const shot of SHOTS.filter(({ name }) => named.size === 0 || named.has(name))) {
      await shot.prepare?.(opened);
      await test.open(shot.path(data), opened);
      await shot.act?.(opened);
      const file = join(FOLDER, `${shot.name}-${variant}.webp`);
      writeFileSync(file, await capture(opened));
      await opened.unrouteAll();
      console.log(file.slice(ROOT.length + 1));
    }
    await opened.context().close();
  }
  if (test.errors.length > 0) throw new Error(`The console threw:\n${test.errors.join('\n')}`);
} finally {
  await test.close();
}

/** Takes the visible part of a page as WebP, which Playwright itself does not offer. */
async function capture(opened: Page): Promise<Buffer> {
  const session = await opened.context().newCDPSession(opened);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: WEBP_QUALITY });
  await session.detach();
  return Buffer.from(data, 'base64');
}

async function ask(opened: Page): Promise<void> {
  await opened.getByLabel('Ask something').fill(QUESTION);
  await opened.keyboard.press('Enter');
  await opened.getByText('Sources').first().waitFor({ timeout: 120_000 });
}

async function askInChat(opened: Page): Promise<void> {
  await opened.getByRole('button', { name: 'Knowledge base', exact: true }).click();
  await opened.getByRole('option', { name: 'Harbour' }).click();
  await opened.getByLabel('Ask about your documents').fill(QUESTION);
  await opened.keyboard.press('Enter');
  await opened.locator('.chat-turn').getByText('Details').waitFor({ timeout: 120_000 });
  await waitForPage(opened);
}

/** Waits for the page of the cited document; phones do not show it. */
async function waitForPage(opened: Page): Promise<void> {
  const image = opened.locator('img.page-image');
  if (!(await opened.getByRole('complementary', { name: 'Sources' }).isVisible())) return;
  await image.waitFor({ state: 'attached', timeout: 120_000 });
  await image.evaluate((page) => (page as unknown as { decode(): Promise<void> }).decode());
}

async function openRow(opened: Page): Promise<void> {
  await opened.locator('tbody tr').first().click();
  await opened.getByRole('dialog').waitFor();
}

async function openForm(opened: Page): Promise<void> {
  await opened.getByRole('button', { name: 'Create key' }).click();
  await opened.getByRole('dialog').getByLabel('Name').fill('Support bot');
}

async function openGallery(opened: Page): Promise<void> {
  await opened.getByRole('button', { name: 'Add data source' }).first().click();
  await opened.getByRole('dialog').waitFor();
}

async function waitForError(opened: Page): Promise<void> {
  await opened.getByRole('alert').waitFor();
}

/** Mocks the list of knowledge bases. */
async function fulfill(opened: Page, status: number, json: object): Promise<void> {
  await opened.route('**/v1/knowledge-bases?*', (route) => route.fulfill({ status, json }));
}

/** Opens the page of files with a list that never loads. */
async function loadForever(opened: Page): Promise<void> {
  await opened.route('**/v1/files?*', () => {});
  await opened.goto(new URL('/files', opened.url()).href);
  await opened.locator('.loading').first().waitFor();
  await delay(POLL_MS * 2);
}

async function openPalette(opened: Page): Promise<void> {
  await opened.keyboard.press('Control+k');
  await opened.getByRole('dialog').waitFor();
}

async function search(opened: Page): Promise<void> {
  await opened.getByLabel('Query').fill('siren');
  await opened.getByRole('main').getByRole('button', { name: 'Search', exact: true }).click();
  await opened.locator('mark').first().waitFor();
}

/** Creates documents, requests, keys, a policy, a batch and an invitation. */
async function createExampleData({ service, page: signedIn, call }: ConsoleTest): Promise<ExampleData> {
  const { id: knowledgeBaseId } = await call<{ id: string }>('POST', '/v1/knowledge-bases', {
    name: 'Harbour',
    description: 'Handbook, ferry timetable and fees of the harbour.',
  });
  await call('POST', '/v1/knowledge-bases', { name: 'Product manuals', description: 'Devices that we support.' });
  await signedIn.goto(`${service.url}/knowledge-bases/${knowledgeBaseId}`);
  await signedIn
    .locator('input[type=file]')
    .first()
    .setInputFiles(readdirSync(DOCUMENTS).map((name) => join(DOCUMENTS, name)));
  const documentId = await processedDocument(call, knowledgeBaseId);
  await call('POST', '/v1/admin/keys', { name: 'Nightly batches', scopes: ['inference', 'files'] });
  const { id: keyId, key } = await call<{ id: string; key: string }>('POST', '/v1/admin/keys', {
    name: 'Support bot',
    scopes: ['inference', 'knowledge'],
    limits: { requests_per_minute: 600 },
    budget: { period: 'month', limit_micros: 25_000_000 },
  });
  await call('POST', '/v1/guardrail-policies', {
    name: 'No competitors',
    topic_deny_list: [{ topic: 'acme corp', action: 'block' }],
    apply_to: ['both'],
  });
  await call('POST', '/v1/prompts', {
    name: 'Ferry notice',
    text: 'Write a notice for {{audience}} that the ferry of {{time}} is cancelled because of {{reason}}.',
  });
  await call('POST', '/v1/chat-presets', {
    name: 'Harbour desk',
    instructions: 'Answer briefly and cite the handbook.',
    knowledge_base_ids: [knowledgeBaseId],
    published: true,
  });
  await call('POST', '/v1/budgets', { name: 'Support team', amount_micros: 200_000_000, thresholds: [80, 100] });
  await call('POST', '/v1/alert-channels', { type: 'webhook', name: 'Pager', url: 'https://hooks.example/quire' });
  await rateAnswer(call, knowledgeBaseId);
  await call('POST', '/v1/admin/invitations', { role: 'developer', note: 'Grace, platform team' });
  await call('POST', '/v1/admin/organizations', { name: 'Shipyard' });
  const client = new OpenAI({ baseURL: `${service.url}/v1`, apiKey: key });
  for (const content of [QUESTION, 'Hello! What can you do?', 'Who is the harbour master?', 'Is Acme Corp better?']) {
    const request = { model: 'general-8b', messages: [{ role: 'user' as const, content }] };
    const stream = client.chat.completions.stream({ ...request, ...{ knowledge_bases: [knowledgeBaseId] } });
    // The policy blocks the last question.
    await stream.finalChatCompletion().catch((error) => assert.match(String(error), /policy/));
  }
  return { knowledgeBaseId, documentId, keyId, batchId: await finishedBatch(service) };
}

/** Asks in a chat and rates the answer. */
async function rateAnswer(call: ConsoleTest['call'], knowledgeBaseId: string): Promise<void> {
  const { id: chatId } = await call<{ id: string }>('POST', '/v1/chats', {});
  const messages = `/v1/chats/${chatId}/messages`;
  const message = { text: QUESTION, model: 'general-8b', knowledge_base_ids: [knowledgeBaseId] };
  const { id } = await call<{ id: string }>('POST', messages, message);
  const isRunning = async () =>
    (await call<{ duration_ms: number | null }>('GET', `${messages}/${id}`)).duration_ms === null;
  while (await isRunning()) await delay(POLL_MS);
  await call('PUT', `${messages}/${id}/feedback`, { rating: 'down', comment: 'The two long tones are missing.' });
}

/** Runs a batch of three questions to its end. */
async function finishedBatch({ url, key }: ConsoleTest['service']): Promise<string> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
  const lines = ['What is the capital of France?', 'Say hello.', 'What is the capital of Japan?'].map(
    (content, index) =>
      JSON.stringify({
        custom_id: `question-${index + 1}`,
        method: 'POST',
        url: '/v1/chat/completions',
        body: { model: 'general-8b', messages: [{ role: 'user', content }] },
      }),
  );
  const file = await client.files.create({
    file: await toFile(Buffer.from(lines.join('\n')), 'questions.jsonl'),
    purpose: 'batch',
  });
  const { id } = await client.batches.create({
    input_file_id: file.id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  while ((await client.batches.retrieve(id)).status !== 'completed') await delay(POLL_MS);
  return id;
}

/** Waits until all documents are processed, and returns the id of the handbook. */
async function processedDocument(call: ConsoleTest['call'], knowledgeBaseId: string): Promise<string> {
  const expected = readdirSync(DOCUMENTS).length;
  for (;;) {
    const path = `/v1/knowledge-bases/${knowledgeBaseId}/documents?limit=100`;
    const { data } = await call<{ data: { id: string; name: string; status: string }[] }>('GET', path);
    const done = data.filter(({ status }) => status === 'completed');
    const handbook = done.find(({ name }) => name === 'handbook.pdf');
    // Each sheet of a spreadsheet is a document.
    if (new Set(done.map(({ name }) => name)).size === expected && handbook !== undefined) return handbook.id;
    await delay(POLL_MS);
  }
}

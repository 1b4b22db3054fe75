/**
 * Writes a screenshot of every page of the console to docs/images/console: light, dark, and at the width of a phone. Starts a service on an
 * empty folder with the documents of examples/harbour. Needs Chromium. Arguments are the names of pages to repeat, such as `usage`.
 */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { type ConsoleTest, startConsole } from '../test/browser/console-page.ts';
import { useEmbeddedDatabases } from '../test/spawned-service.ts';

const ROOT = join(import.meta.dirname, '..');
const DOCUMENTS = join(ROOT, 'examples/harbour');
const FOLDER = join(ROOT, 'docs/images/console');
const WEBP_QUALITY = 82;
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
}

/** A page: its file name, its path, and what is done on it before the picture is taken. */
interface Shot {
  name: string;
  path(data: ExampleData): string;
  act?(page: Page): Promise<void>;
}

const page = (name: string, path = `/${name}`): Shot => ({ name, path: () => path });

const SHOTS: readonly Shot[] = [
  page('start', '/'),
  page('overview'),
  { name: 'playground', path: ({ knowledgeBaseId }) => `/playground?kb=${knowledgeBaseId}`, act: ask },
  page('knowledge-bases'),
  { name: 'knowledge-base', path: ({ knowledgeBaseId }) => `/knowledge-bases/${knowledgeBaseId}` },
  {
    name: 'document',
    path: ({ knowledgeBaseId, documentId }) => `/knowledge-bases/${knowledgeBaseId}/documents/${documentId}`,
  },
  page('files'),
  page('batches'),
  page('guardrails'),
  page('keys'),
  page('members'),
  page('usage'),
  page('models'),
  page('cache'),
  page('audit'),
  page('settings'),
];

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
      await test.open(shot.path(data), opened);
      await shot.act?.(opened);
      const file = join(FOLDER, `${shot.name}-${variant}.webp`);
      writeFileSync(file, await capture(opened));
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
  for (const [name, scopes] of [
    ['Support bot', ['inference', 'knowledge']],
    ['Nightly batches', ['inference', 'files']],
  ] as const)
    await call('POST', '/v1/admin/keys', { name, scopes });
  await call('POST', '/v1/guardrail-policies', {
    name: 'No competitors',
    topic_deny_list: [{ topic: 'acme corp', action: 'block' }],
    apply_to: ['both'],
  });
  await call('POST', '/v1/admin/invitations', { role: 'developer', note: 'Grace, platform team' });
  for (const content of [QUESTION, 'Hello! What can you do?', 'Who is the harbour master?'])
    await call('POST', '/v1/chat/completions', {
      model: 'general-8b',
      knowledge_bases: [knowledgeBaseId],
      messages: [{ role: 'user', content }],
    });
  return { knowledgeBaseId, documentId };
}

/** Waits until all documents are processed, and returns the id of the handbook. */
async function processedDocument(call: ConsoleTest['call'], knowledgeBaseId: string): Promise<string> {
  const expected = readdirSync(DOCUMENTS).length;
  for (;;) {
    const path = `/v1/knowledge-bases/${knowledgeBaseId}/documents?limit=100`;
    const { data } = await call<{ data: { id: string; name: string; status: string }[] }>('GET', path);
    const done = data.filter(({ status }) => status === 'completed');
    const handbook = done.find(({ name }) => name === 'handbook.pdf');
    if (done.length === expected && handbook !== undefined) return handbook.id;
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

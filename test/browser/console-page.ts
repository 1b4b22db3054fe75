import { existsSync } from 'node:fs';
import { join } from 'node:path';
import axe from 'axe-core';
import {
  type Browser,
  type BrowserContext,
  type BrowserContextOptions,
  chromium,
  type Locator,
  type Page,
} from 'playwright-core';
import { CONSOLE_FOLDER } from '../../src/console/routes.ts';
import { CHROMIUM_PATH, SKIP_WITHOUT_CHROMIUM } from '../fixtures/chromium.ts';
import { type Service, type ServiceOptions, startService } from '../spawned-service.ts';

/** Why the tests of the console cannot run here; false where they can. */
export const SKIP_WITHOUT_CONSOLE = existsSync(join(CONSOLE_FOLDER, 'index.html'))
  ? SKIP_WITHOUT_CHROMIUM
  : 'the console is not built: npm ci';

/** How tests start Chromium. */
export const LAUNCH = {
  executablePath: CHROMIUM_PATH ?? '',
  args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
};
/** The operator that the setup link creates. */
export const EMAIL = 'ada@example.com';
export const PASSWORD = 'correct horse battery';

/** A service with its first account, and a page of Chromium that is signed in to it. */
export interface ConsoleTest {
  service: Service;
  browser: Browser;
  /** Signed in as an operator and owner of the organization `default`. */
  page: Page;
  /** Origins that any page asked. */
  origins: Set<string>;
  /** Script errors and dialogs of any page. */
  errors: string[];
  /** Opens a page in a new context: another user, window or theme. */
  newPage(options?: BrowserContextOptions): Promise<Page>;
  /** Opens a path and waits for its heading and data. */
  open(path: string, page?: Page): Promise<void>;
  /** Creates an account by a setup or invitation link. */
  join(link: string, email: string, page: Page): Promise<void>;
  /** Creates an account by an invitation with a role, and returns its signed-in page. */
  invite(role: 'developer' | 'viewer', email: string, options?: BrowserContextOptions): Promise<Page>;
  /** Creates a knowledge base, uploads a document on its page, waits for its ingestion, and returns the id. */
  createKnowledgeBase(name: string, document: { name: string; text: string }): Promise<string>;
  /** Calls the API under the session of the page; the answer must not be an error. */
  call<T>(method: string, path: string, body?: object, page?: Page): Promise<T>;
  close(): Promise<void>;
}

/** Starts a service and Chromium, and creates the first account by the setup link. */
export async function startConsole(options?: ServiceOptions): Promise<ConsoleTest> {
  const service = await startService(options);
  const browser = await chromium.launch(LAUNCH);
  const origins = new Set<string>();
  const errors: string[] = [];
  const watch = async (context: BrowserContext): Promise<Page> => {
    const page = await context.newPage();
    page.on('pageerror', (error) => errors.push(error.message));
    page.on('dialog', (dialog) => errors.push(`dialog: ${dialog.message()}`));
    page.on('request', (request) => origins.add(new URL(request.url()).origin));
    return page;
  };
  const newPage = async (options: BrowserContextOptions = {}) =>
    watch(await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: 'en-US', ...options }));
  const page = await newPage();
  const test: ConsoleTest = {
    service,
    browser,
    page,
    origins,
    errors,
    newPage,
    async open(path, opened = page) {
      await opened.goto(service.url + path);
      await opened.getByRole('heading', { level: 1 }).waitFor();
      await opened.waitForLoadState('networkidle');
    },
    async join(link, email, opened) {
      await opened.goto(link);
      await opened.getByLabel('Email').fill(email);
      await opened.getByLabel('Name').fill(email);
      await opened.getByLabel('Password', { exact: false }).first().fill(PASSWORD);
      await opened.getByRole('button', { name: 'Create account' }).click();
      // The first page of owners and operators, and that of others.
      await opened.getByRole('heading', { level: 1, name: /^(Start|New chat)$/ }).waitFor();
    },
    async invite(role, email, options) {
      const { token } = await test.call<{ token: string }>('POST', '/v1/admin/invitations', { role });
      const invited = await newPage(options);
      await test.join(`${service.url}/join#${token}`, email, invited);
      return invited;
    },
    async createKnowledgeBase(name, document) {
      const { id } = await test.call<{ id: string }>('POST', '/v1/knowledge-bases', { name });
      await test.open(`/knowledge-bases/${id}`);
      const file = { name: document.name, mimeType: 'text/markdown', buffer: Buffer.from(document.text) };
      await page.locator('input[type=file]').setInputFiles(file);
      await page.getByRole('cell', { name: 'completed' }).waitFor({ timeout: 120_000 });
      return id;
    },
    call: (method, path, body, opened = page) => callApi(opened, { method, path, body }),
    async close() {
      await browser.close();
      await service.kill();
    },
  };
  await test.join(/http\S+\/join#\S+/.exec(service.stdout())?.[0] ?? '', EMAIL, page);
  return test;
}

/** Calls the API by `fetch` in the page, under its session. */
async function callApi<T>(
  page: Page,
  request: { method: string; path: string; body?: object | undefined },
): Promise<T> {
  const { status, text } = await page.evaluate(async ({ method, path, body }) => {
    const init =
      body === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const response = await fetch(path, { method, ...init });
    return { status: response.status, text: await response.text() };
  }, request);
  if (status >= 400) throw new Error(`${request.method} ${request.path}: ${status} ${text}`);
  return JSON.parse(text) as T;
}

/** Chooses an action in the menu of a row by its accessible name, such as "Delete: harbour". */
export async function chooseAction(scope: Page | Locator, name: string | RegExp): Promise<void> {
  const page = 'page' in scope ? scope.page() : scope;
  const hidden = page.getByRole('menuitem', { name, includeHidden: true });
  const cell = scope.locator('td').filter({ has: hidden }).first();
  await cell.locator('.row-menu-button').click();
  await cell.getByRole('menuitem', { name }).click();
}

/** Waits until a field has a value. The attribute `value` does not follow. */
export async function waitForValue(field: Locator, value: string): Promise<void> {
  while ((await field.inputValue()) !== value) await field.page().waitForTimeout(20);
}

/** Violations of WCAG 2.2 A and AA on the page, or in its modal dialogs: the page behind them cannot be used. */
export async function accessibilityViolations(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  const modal = '[aria-modal=true]';
  const isOpen = (await page.locator(`${modal}:visible`).count()) > 0;
  return page.evaluate(
    async (include) => {
      const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];
      const { axe: runner } = globalThis as unknown as { axe: typeof import('axe-core') };
      const { violations: found } = await runner.run({ include }, { runOnly: tags });
      return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' | ')}`);
    },
    isOpen ? modal : 'html',
  );
}

/**
 * Checks a page in both themes and at phone width. Returns its violations of WCAG, and how much it is wider than the
 * phone.
 */
export async function inspectPage(page: Page): Promise<string[]> {
  const found: string[] = [];
  const check = async (layout: string) => {
    // Transitions start in the next frame. Contrast is low while they run.
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
    while ((await page.evaluate(RUNNING_TRANSITIONS)) !== 0) await page.waitForTimeout(20);
    found.push(...(await accessibilityViolations(page)).map((violation) => `${layout}: ${violation}`));
  };
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.locator(`:root[data-mantine-color-scheme=${colorScheme}]`).waitFor();
    await check(colorScheme);
  }
  await page.setViewportSize({ width: 390, height: 844 });
  await check('phone');
  const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  if (overflow !== 0) found.push(`phone: the page is ${overflow} pixels too wide`);
  await page.setViewportSize({ width: 1280, height: 900 });
  return found;
}

/** Counts the transitions with an end. The loading indicator has none. */
const RUNNING_TRANSITIONS =
  'document.getAnimations().filter(({ effect }) => effect.getComputedTiming().endTime !== Infinity).length';

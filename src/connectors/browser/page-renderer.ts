import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { BrowserContext, Page } from 'playwright-core';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { FairSemaphore } from '../../lib/fair-semaphore.ts';
import type { Logger } from '../../lib/logger.ts';
import { describeError } from '../../lib/operator-error.ts';
import { rejectOnAbort } from '../../lib/reject-on-abort.ts';
import { Chromium } from './chromium.ts';
import { type FetchedDocument, type LoadResource, RequestInterception } from './intercept-requests.ts';

/** Tabs at once in one process, and of one organization. */
const TABS = { total: 2, perGroup: 1 };
/** A browser is replaced after this many pages, because browsers leak memory. */
const PAGES_PER_BROWSER = 100;
/** Private memory of all processes of a browser; it is killed above. */
const MAX_MEMORY_BYTES = 1_073_741_824;
const MEMORY_CHECK_MS = 500;
/** A page is complete when it has sent no request for this long. */
const QUIET_MS = 500;
/** Time for scripts and their requests; then the page is taken as it is. */
const SCRIPTS_MS = 20_000;
/** Time limit of one page. A page that exceeds it is in an endless loop: its browser is killed. */
const PAGE_TIMEOUT_MS = 30_000;
/** Characters of a rendered page, as of a fetched one. */
const MAX_HTML_CHARACTERS = 8_388_608;
/** A browser without pages ends after this time. */
const IDLE_MS = 30_000;

/** A page after its scripts have run. */
export interface RenderedPage {
  html: string;
  /** URL to which a script has navigated; null if none has. It is not loaded. */
  navigation: string | null;
}

/** What a page needs in order to be rendered. */
export interface RenderRequest {
  document: FetchedDocument;
  load: LoadResource;
  userAgent: string;
  /** Organization, for a fair share of tabs. */
  organizationId: string;
}

/** Options of a `PageRenderer`. */
export interface PageRendererOptions {
  executablePath: string;
  /** Folder for profiles. */
  folder: string;
  logger: Logger;
  /** Overrides the limits in tests. */
  limits?: { pagesPerBrowser?: number; pageTimeoutMs?: number; memoryBytes?: number; idleMs?: number };
}

/** A browser with the tabs that use it. */
interface SharedBrowser {
  chromium: Chromium;
  folder: string;
  pages: number;
  tabs: number;
  /** Set when the browser was killed, with the reason. */
  killed: string | null;
}

/**
 * Renders pages in one Chromium, which starts with the first page and ends when it is idle. Each page has a browser
 * context of its own. The browser has no network, see `Chromium`.
 */
export class PageRenderer {
  readonly #options: PageRendererOptions;
  readonly #tabs = new FairSemaphore(TABS);
  #current: Promise<SharedBrowser> | null = null;
  #idle: NodeJS.Timeout | undefined;
  readonly #open = new Set<SharedBrowser>();

  constructor(options: PageRendererOptions) {
    this.#options = options;
  }

  /**
   * Renders a page. After a crash of the browser, which another page may have caused, tries once more. Throws the
   * signal's reason, and `IngestionError`: `timeout` for an endless script, `too_large`, `server_error` for crashes,
   * `connector_unavailable` when Chromium does not start.
   */
  async render(request: RenderRequest, signal: AbortSignal): Promise<RenderedPage> {
    return this.#tabs.within(request.organizationId, signal, async () => {
      try {
        return await this.#renderOnce(request, signal);
      } catch (error) {
        if (!(error instanceof BrowserCrash)) throw error;
        this.#options.logger.warn({ url: request.document.url, reason: error.message }, 'browser crashed');
      }
      try {
        return await this.#renderOnce(request, signal);
      } catch (error) {
        if (!(error instanceof BrowserCrash)) throw error;
        throw new IngestionError('server_error', `The browser crashed while it rendered the page: ${error.message}.`);
      }
    });
  }

  /** Ends the browser. Call it when no page is being rendered. */
  async close(): Promise<void> {
    clearTimeout(this.#idle);
    this.#current = null;
    await Promise.all([...this.#open].map((shared) => this.#end(shared)));
  }

  async #renderOnce(request: RenderRequest, signal: AbortSignal): Promise<RenderedPage> {
    const shared = await this.#acquire();
    const { pageTimeoutMs = PAGE_TIMEOUT_MS } = this.#options.limits ?? {};
    const timeout = AbortSignal.timeout(pageTimeoutMs);
    const ended = AbortSignal.any([signal, timeout]);
    const watching = new AbortController();
    try {
      const watch = this.#watchMemory(shared, watching.signal);
      return await rejectOnAbort(Promise.race([renderInTab(shared.chromium, request, ended), watch]), ended);
    } catch (error) {
      if (signal.aborted || timeout.aborted) kill(shared, 'a page did not end');
      signal.throwIfAborted();
      if (timeout.aborted) {
        const seconds = Math.ceil(pageTimeoutMs / 1000);
        throw new IngestionError('timeout', `The scripts of the page did not end within ${seconds} seconds.`, error);
      }
      if (error instanceof IngestionError) throw error;
      if (shared.killed !== null) throw new BrowserCrash(shared.killed);
      if (!shared.chromium.browser.isConnected()) throw new BrowserCrash('the browser ended');
      throw new BrowserCrash(describeError(error));
    } finally {
      watching.abort();
      void this.#release(shared);
    }
  }

  /** Returns the current browser, or starts one when it is used up or has ended. */
  async #acquire(): Promise<SharedBrowser> {
    clearTimeout(this.#idle);
    const { pagesPerBrowser = PAGES_PER_BROWSER } = this.#options.limits ?? {};
    const current = await this.#current?.catch(() => null);
    const isUsable =
      current != null &&
      current.killed === null &&
      current.pages < pagesPerBrowser &&
      current.chromium.browser.isConnected();
    const shared = isUsable ? current : await this.#replace(current ?? null);
    shared.pages += 1;
    shared.tabs += 1;
    return shared;
  }

  #replace(current: SharedBrowser | null): Promise<SharedBrowser> {
    // With tabs, it ends when the last one is released.
    if (current?.tabs === 0) void this.#end(current);
    this.#current = this.#launch();
    return this.#current;
  }

  async #launch(): Promise<SharedBrowser> {
    const { executablePath, logger } = this.#options;
    const folder = await mkdtemp(join(this.#options.folder, 'chromium-'));
    try {
      const chromium = await Chromium.launch(executablePath, folder);
      const shared: SharedBrowser = { chromium, folder, pages: 0, tabs: 0, killed: null };
      this.#open.add(shared);
      return shared;
    } catch (error) {
      await removeFolder(folder);
      logger.warn(
        { executablePath, reason: describeError(error) },
        'Chromium did not start; check QUIRE_CHROMIUM_PATH',
      );
      const message = 'The page needs JavaScript, and the browser of the service did not start.';
      throw new IngestionError('connector_unavailable', message, error);
    }
  }

  /** Ends a browser that is not the current one, or that stays idle. */
  async #release(shared: SharedBrowser): Promise<void> {
    shared.tabs -= 1;
    if (shared.tabs > 0) return;
    const isCurrent = (await this.#current?.catch(() => null)) === shared && shared.killed === null;
    if (!isCurrent) return this.#end(shared);
    this.#idle = setTimeout(() => {
      if (shared.tabs > 0) return;
      this.#current = null;
      void this.#end(shared);
    }, this.#options.limits?.idleMs ?? IDLE_MS);
    this.#idle.unref();
  }

  async #end(shared: SharedBrowser): Promise<void> {
    if (!this.#open.delete(shared)) return;
    await shared.chromium.close();
    await removeFolder(shared.folder);
  }

  /** Kills the browser above its memory limit. Never resolves; rejects when the browser is gone. */
  async #watchMemory(shared: SharedBrowser, stop: AbortSignal): Promise<never> {
    const { memoryBytes = MAX_MEMORY_BYTES } = this.#options.limits ?? {};
    for (;;) {
      await delay(MEMORY_CHECK_MS, undefined, { signal: stop }).catch(() => new Promise<never>(() => {}));
      if ((await shared.chromium.memoryBytes()) <= memoryBytes) continue;
      kill(shared, 'the page used too much memory');
      throw new BrowserCrash('the page used too much memory');
    }
  }
}

/** The browser ended while it rendered a page. */
class BrowserCrash extends Error {
  override readonly name = 'BrowserCrash';
}

/** The worker empties the parent folder when it starts, so a failure is of no consequence. */
async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => {});
}

function kill(shared: SharedBrowser, reason: string): void {
  shared.killed ??= reason;
  shared.chromium.kill();
}

async function renderInTab(
  { browser }: Chromium,
  { document, load, userAgent }: RenderRequest,
  signal: AbortSignal,
): Promise<RenderedPage> {
  const context = await browser.newContext({ userAgent, serviceWorkers: 'block', acceptDownloads: false });
  try {
    const tab = await context.newPage();
    const crashed = new Promise<never>((_, reject) => {
      tab.once('crash', () => reject(new BrowserCrash('the page crashed its process')));
    });
    crashed.catch(() => {});
    context.on('page', (popup) => void popup.close().catch(() => {}));
    const interception = new RequestInterception(tab, document, load, signal);
    await context.route('**/*', (route) => interception.answer(route));
    return await Promise.race([readRendered(context, tab, interception, document.url), crashed]);
  } finally {
    // A killed browser has closed it already.
    await context.close().catch(() => {});
  }
}

async function readRendered(
  context: BrowserContext,
  tab: Page,
  interception: RequestInterception,
  url: string,
): Promise<RenderedPage> {
  await tab.goto(url, { waitUntil: 'commit', timeout: 0 });
  const until = performance.now() + SCRIPTS_MS;
  while (interception.quietMs < QUIET_MS && performance.now() < until) await delay(QUIET_MS / 5);
  const html = await readDocument(context, tab);
  if (html.length > MAX_HTML_CHARACTERS) {
    throw new IngestionError('too_large', `The rendered page is larger than ${MAX_HTML_CHARACTERS / 1_048_576} MiB.`);
  }
  return { html, navigation: interception.navigation };
}

/** Reads the document in an isolated world, which the page cannot change; at most one character too many. */
async function readDocument(context: BrowserContext, tab: Page): Promise<string> {
  const session = await context.newCDPSession(tab);
  const { frameTree } = await session.send('Page.getFrameTree');
  const { executionContextId } = await session.send('Page.createIsolatedWorld', { frameId: frameTree.frame.id });
  const { result } = await session.send('Runtime.evaluate', {
    contextId: executionContextId,
    expression: `document.documentElement?.outerHTML.slice(0, ${MAX_HTML_CHARACTERS + 1}) ?? ''`,
    returnByValue: true,
  });
  return String(result.value ?? '');
}

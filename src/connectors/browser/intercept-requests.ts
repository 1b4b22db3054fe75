import type { Page, Request, Route } from 'playwright-core';

/** Requests of one page that are answered. */
const MAX_REQUESTS = 200;
/** Bytes of all responses of one page. */
const MAX_BYTES = 67_108_864;
/** Kinds of requests that can bring text. Frames, images, fonts, media, beacons and event streams are not loaded. */
const LOADED: ReadonlySet<string> = new Set(['script', 'xhr', 'fetch']);
/** Headers that describe the transfer, or that would change the browser beyond the page. */
const DROPPED_HEADERS: ReadonlySet<string> = new Set([
  ...['connection', 'content-encoding', 'content-length', 'keep-alive', 'location', 'set-cookie'],
  ...['strict-transport-security', 'transfer-encoding'],
]);

/** Response to a request of a page. */
export interface ResourceResponse {
  status: number;
  headers: Readonly<Record<string, string | undefined>>;
  body: Buffer;
}

/** A GET request of a page. */
export interface ResourceRequest {
  /** http or https. */
  url: string;
  /** Lower-case names. */
  headers: Readonly<Record<string, string>>;
  isScript: boolean;
}

/**
 * Loads a resource of a page: its only way to the network. Returns null when the resource must not be loaded; throws
 * when it cannot be.
 */
export type LoadResource = (request: ResourceRequest, signal: AbortSignal) => Promise<ResourceResponse | null>;

/** A page that was fetched and is to be rendered. */
export interface FetchedDocument {
  url: string;
  body: Buffer;
  mediaType: string;
}

/** Answers the requests of one tab: the document from memory, its resources by `load`, nothing else. */
export class RequestInterception {
  readonly #tab: Page;
  readonly #document: FetchedDocument;
  readonly #load: LoadResource;
  readonly #signal: AbortSignal;
  #hasDocument = false;
  #requests = 0;
  #bytes = 0;
  #pending = 0;
  #lastActivity = performance.now();
  /** URL to which a script of the page has navigated. */
  navigation: string | null = null;

  constructor(tab: Page, document: FetchedDocument, load: LoadResource, signal: AbortSignal) {
    this.#tab = tab;
    this.#document = document;
    this.#load = load;
    this.#signal = signal;
  }

  /** Milliseconds since the last answer; 0 while a request is open. */
  get quietMs(): number {
    return this.#pending > 0 ? 0 : performance.now() - this.#lastActivity;
  }

  /** Handler of `page.route`. Never throws: a request of a closed tab is over. */
  async answer(route: Route): Promise<void> {
    this.#pending += 1;
    try {
      await this.#answer(route, route.request());
    } catch {
      await route.abort().catch(() => {});
    } finally {
      this.#pending -= 1;
      this.#lastActivity = performance.now();
    }
  }

  async #answer(route: Route, request: Request): Promise<void> {
    if (request.isNavigationRequest()) return this.#navigate(route, request);
    const kind = request.resourceType();
    // Scripts wait for style sheets, which hold no text.
    if (kind === 'stylesheet') return route.fulfill({ contentType: 'text/css', body: '' });
    const { protocol } = new URL(request.url());
    const isHttp = protocol === 'http:' || protocol === 'https:';
    const isLoaded = LOADED.has(kind) && request.method() === 'GET' && isHttp;
    this.#requests += 1;
    if (!isLoaded || this.#requests > MAX_REQUESTS || this.#bytes > MAX_BYTES) return route.abort();
    const resource = { url: request.url(), headers: request.headers(), isScript: kind === 'script' };
    const response = await this.#load(resource, this.#signal);
    if (response === null) return route.abort();
    this.#bytes += response.body.length;
    await route.fulfill({ status: response.status, headers: passedHeaders(response.headers), body: response.body });
  }

  async #navigate(route: Route, request: Request): Promise<void> {
    if (request.frame() !== this.#tab.mainFrame()) return route.abort();
    const { url, body, mediaType } = this.#document;
    if (!this.#hasDocument) {
      this.#hasDocument = true;
      return route.fulfill({ status: 200, contentType: mediaType, body });
    }
    if (request.method() === 'GET' && request.url() !== url) this.navigation = request.url();
    // Keeps the document, where another error would show an error page.
    return route.abort('aborted');
  }
}

function passedHeaders(headers: ResourceResponse['headers']): Record<string, string> {
  const entries = Object.entries(headers).filter(([name, value]) => value !== undefined && !DROPPED_HEADERS.has(name));
  return Object.fromEntries(entries) as Record<string, string>;
}

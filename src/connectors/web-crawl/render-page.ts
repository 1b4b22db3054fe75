import { IngestionError } from '../../extraction/ingestion-error.ts';
import type { LoadResource, ResourceRequest, ResourceResponse } from '../browser/intercept-requests.ts';
import type { PageRenderer } from '../browser/page-renderer.ts';
import type { ConnectorDeps } from '../connector.ts';
import { readBody } from '../http/guarded-http.ts';
import type { HostPace } from '../http/host-pace.ts';
import type { FetchedHtml, FetchedPage } from './fetch-page.ts';
import { readPage } from './read-page.ts';
import { type RobotsRules, USER_AGENT } from './robots.ts';

/** Maximum bytes of one script or response. */
const MAX_RESOURCE_BYTES = 16_777_216;
const RESOURCE_TIMEOUT_MS = 15_000;
/** Responses of one crawl that are cached, so that each script is requested once. */
const CACHE_BYTES = 33_554_432;
/** Request headers of the page that are sent. Cookies are not: each page starts without any. */
const SENT_HEADERS = /^(?:accept|accept-language|authorization|content-type|origin|referer|x-[\w-]+)$/;

/** Origins from which the pages of one crawl load scripts and data. */
const MAX_ORIGINS = 64;

/** The rules by which a crawl reaches hosts. */
interface HostRules {
  robotsOf(origin: string): Promise<RobotsRules | IngestionError>;
  paceOf(url: string): HostPace;
}

type RenderDeps = HostRules & Pick<ConnectorDeps, 'organizationId' | 'http'> & { renderer: PageRenderer };

/** Creates the rendering of a crawl; null when the operator has not enabled it. */
export function createRendering(deps: ConnectorDeps, rules: HostRules): PageRendering | null {
  const { renderer, organizationId, http } = deps;
  return renderer === null ? null : new PageRendering({ ...rules, renderer, organizationId, http });
}

/** Renders pages of one crawl. Their requests follow robots.txt, the rate of each host, and the address policy. */
export class PageRendering {
  readonly #deps: RenderDeps;
  readonly #cache = new Map<string, Promise<ResourceResponse | null>>();
  readonly #origins = new Set<string>();
  #cachedBytes = 0;

  constructor(deps: RenderDeps) {
    this.#deps = deps;
  }

  /**
   * Returns the page with its rendered text, without validators: the scripts may show another text while the page stays
   * the same. Throws the signal's reason only.
   */
  async render(url: string, page: FetchedHtml, signal: AbortSignal): Promise<FetchedPage> {
    const { renderer, organizationId } = this.#deps;
    const document = { url, body: page.body, mediaType: page.mediaType };
    try {
      const load: LoadResource = (resource, ended) => this.#load(resource, ended);
      const { html, navigation } = await renderer.render(
        { document, load, userAgent: USER_AGENT, organizationId },
        signal,
      );
      const body = Buffer.from(html);
      const facts = await readPage(body, { url, charset: 'utf-8' }, signal);
      if (facts.needsJavaScript && navigation !== null) return { kind: 'redirect', target: navigation };
      facts.noIndex ||= page.facts?.noIndex ?? false;
      facts.noFollow ||= page.facts?.noFollow ?? false;
      const { fingerprint } = facts;
      const validators = { etag: null, lastModified: null };
      const mediaType = 'text/html; charset=utf-8';
      return { kind: 'page', body, mediaType, fingerprint, validators, facts, isRendered: true };
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof IngestionError)) throw error;
      return { kind: 'failed', error };
    }
  }

  /** Scripts are requested once per crawl; other resources depend on headers. */
  #load(request: ResourceRequest, signal: AbortSignal): Promise<ResourceResponse | null> {
    if (!request.isScript || this.#cachedBytes > CACHE_BYTES) return this.#request(request, signal);
    const cached = this.#cache.get(request.url);
    if (cached !== undefined) return cached;
    const loading = this.#request(request, signal).then((response) => {
      this.#cachedBytes += response?.body.length ?? 0;
      return response;
    });
    this.#cache.set(request.url, loading);
    loading.catch(() => this.#cache.delete(request.url));
    return loading;
  }

  async #request({ url, headers }: ResourceRequest, signal: AbortSignal): Promise<ResourceResponse | null> {
    if (!(await this.#isAllowed(url))) return null;
    const { http, paceOf } = this.#deps;
    const sent = Object.fromEntries(Object.entries(headers).filter(([name]) => SENT_HEADERS.test(name)));
    const options = {
      headers: { ...sent, 'user-agent': USER_AGENT },
      maxBytes: MAX_RESOURCE_BYTES,
      timeoutMs: RESOURCE_TIMEOUT_MS,
      follow: (target: URL) => this.#isAllowed(target.href),
    };
    return paceOf(url).run(async () => {
      const response = await http.request(url, options, signal);
      return { status: response.status, headers: response.headers, body: await readBody(response) };
    }, signal);
  }

  async #isAllowed(url: string): Promise<boolean> {
    const { origin } = new URL(url);
    if (!this.#origins.has(origin) && this.#origins.size >= MAX_ORIGINS) return false;
    this.#origins.add(origin);
    const robots = await this.#deps.robotsOf(origin);
    return !(robots instanceof IngestionError) && robots.allows(url);
  }
}

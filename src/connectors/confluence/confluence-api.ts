import { IngestionError } from '../../extraction/ingestion-error.ts';
import type { GuardedHttp } from '../http/guarded-http.ts';
import { RestClient, readPages } from '../http/rest-client.ts';

/** Maximum of the API. */
const ITEMS_PER_PAGE = 250;
/** Space keys in one request. */
const KEYS_PER_REQUEST = 100;

/** https://developer.atlassian.com/cloud/confluence/rest/v2/api-group-space/ */
export interface Space {
  id: string;
  key: string;
  name: string;
}

/** https://developer.atlassian.com/cloud/confluence/rest/v2/api-group-page/ */
export interface ConfluencePage {
  id: string;
  title: string;
  parentId: string | null;
  version: { number: number; createdAt?: string };
  body?: { storage?: { value: string } };
  labels?: { results: { name: string }[] };
  _links: { webui: string };
}

/** https://developer.atlassian.com/cloud/confluence/rest/v2/api-group-attachment/ */
export interface Attachment {
  id: string;
  title: string;
  mediaType?: string;
  pageId?: string;
  version: { number: number };
  downloadLink: string;
  webuiLink?: string;
}

interface Page<T> {
  results: T[];
  _links?: { next?: string };
}

/** The REST API v2 of a Confluence site. */
export class ConfluenceApi {
  readonly #client: RestClient;
  /** Address of Confluence, such as `https://acme.atlassian.net/wiki`. */
  readonly root: string;

  constructor(
    http: GuardedHttp,
    config: { url: string; credentials: { email: string; api_token: string } },
    retries?: number,
  ) {
    const { email, api_token } = config.credentials;
    const authorization = `Basic ${Buffer.from(`${email}:${api_token}`).toString('base64')}`;
    const url = config.url.replace(/[?#].*$/, '').replace(/\/+$/, '');
    this.root = url.endsWith('/wiki') ? url : `${url}/wiki`;
    this.#client = new RestClient({
      http,
      service: 'Confluence',
      headers: async () => ({ authorization }),
      errorMessage: (body) => {
        const { errors, message } = Object(body) as { errors?: { title?: string }[]; message?: string };
        return errors?.[0]?.title ?? message;
      },
      retries,
    });
  }

  /** Returns the spaces with the given keys, or all readable ones. Throws `not_found` that names a missing key. */
  async spaces(keys: readonly string[] | undefined, signal: AbortSignal): Promise<Space[]> {
    if (keys === undefined) return Array.fromAsync(this.#pages<Space>('/spaces', {}, signal));
    const spaces: Space[] = [];
    for (let from = 0; from < keys.length; from += KEYS_PER_REQUEST) {
      const some = keys.slice(from, from + KEYS_PER_REQUEST);
      const batch = await Array.fromAsync(this.#pages<Space>('/spaces', { keys: some.join(',') }, signal));
      const missing = some.find((key) => !batch.some((space) => space.key === key));
      if (missing !== undefined) {
        throw new IngestionError('not_found', `The space '${missing}' does not exist, or the account cannot read it.`);
      }
      spaces.push(...batch);
    }
    return spaces;
  }

  /** Sends the cheapest request that needs the credentials. */
  async check(keys: readonly string[] | undefined, signal: AbortSignal): Promise<void> {
    if (keys !== undefined) await this.spaces(keys.slice(0, KEYS_PER_REQUEST), signal);
    else await this.#client.json(`${this.root}/api/v2/spaces?limit=1`, signal);
  }

  listPages(space: Space, signal: AbortSignal): AsyncIterable<ConfluencePage> {
    return this.#pages<ConfluencePage>(`/spaces/${encodeURIComponent(space.id)}/pages`, { status: 'current' }, signal);
  }

  attachments(signal: AbortSignal): AsyncIterable<Attachment> {
    return this.#pages<Attachment>('/attachments', { status: 'current' }, signal);
  }

  /** Returns a page with its body and labels. */
  page(id: string, signal: AbortSignal): Promise<ConfluencePage> {
    const query = 'body-format=storage&include-labels=true';
    return this.#client.json(`${this.root}/api/v2/pages/${encodeURIComponent(id)}?${query}`, signal);
  }

  async download(path: string, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    return (await this.#client.download(this.#resolve(`${this.root}${path}`), signal)).body;
  }

  #pages<T>(path: string, query: Record<string, string>, signal: AbortSignal): AsyncGenerator<T> {
    const search = new URLSearchParams({ ...query, limit: String(ITEMS_PER_PAGE) });
    const first = `${this.root}/api/v2${path}?${search}`;
    return readPages(async (url) => {
      const { results, _links } = await this.#client.json<Page<T>>(url ?? first, signal);
      return { items: results, next: _links?.next === undefined ? null : this.#resolve(_links.next) };
    });
  }

  /** Resolves a link of the API. Credentials must not go to another server. */
  #resolve(link: string): string {
    const url = new URL(link, this.root);
    if (url.origin !== new URL(this.root).origin) {
      throw new IngestionError('blocked_url', 'Confluence sent a link to another server.');
    }
    return url.href;
  }
}

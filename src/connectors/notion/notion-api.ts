import type { GuardedHttp } from '../http/guarded-http.ts';
import { HostPace } from '../http/host-pace.ts';
import { RestClient, readPages } from '../http/rest-client.ts';

/** Version of the API whose shapes this folder reads: https://developers.notion.com/reference/versioning */
const API_VERSION = '2026-03-11';
/** Concurrent requests, so that a slow one does not lower the rate. */
const CONCURRENCY = 3;
/** Maximum of the API. */
const RESULTS_PER_PAGE = 100;

/** https://developers.notion.com/reference/rich-text */
export type RichText = { plain_text: string }[];

/** https://developers.notion.com/reference/parent-object */
export interface Parent {
  type: string;
  page_id?: string;
  database_id?: string;
  block_id?: string;
}

/** https://developers.notion.com/reference/page */
export interface NotionPage {
  object: 'page';
  id: string;
  parent: Parent;
  last_edited_time: string;
  in_trash?: boolean;
  url: string;
  properties: Record<string, Property>;
}

/** A table of a database: https://developers.notion.com/reference/data-source */
export interface NotionDataSource {
  object: 'data_source';
  id: string;
  /** The database. */
  parent: Parent;
  /** The parent of the database. */
  database_parent?: Parent;
}

/** https://developers.notion.com/reference/database */
export interface NotionDatabase {
  id: string;
  parent: Parent;
  data_sources: { id: string }[];
}

/** https://developers.notion.com/reference/page-property-values */
export type Property = { type: string } & Record<string, unknown>;

/** https://developers.notion.com/reference/block */
export interface NotionBlock {
  id: string;
  type: string;
  has_children: boolean;
  parent: Parent;
  /** Fields by the name of the type. */
  [type: string]: unknown;
}

interface ResultPage<T> {
  results: T[];
  has_more: boolean;
  next_cursor: string | null;
}

/** How to reach the API. */
export interface NotionApiOptions {
  base: string;
  token: string;
  requestsPerSecond: number;
  retries?: number | undefined;
}

/** The REST API of Notion. */
export class NotionApi {
  readonly #client: RestClient;
  readonly #base: string;

  constructor(http: GuardedHttp, options: NotionApiOptions) {
    const { base, token, requestsPerSecond, retries } = options;
    this.#base = `${base}/v1`;
    this.#client = new RestClient({
      http,
      service: 'Notion',
      headers: async () => ({
        authorization: `Bearer ${token}`,
        'notion-version': API_VERSION,
        'content-type': 'application/json',
      }),
      errorMessage: (body) => (Object(body) as { message?: string }).message,
      pace: new HostPace(requestsPerSecond, CONCURRENCY),
      retries,
    });
  }

  /** Checks the token. */
  async me(signal: AbortSignal): Promise<void> {
    await this.#client.json(`${this.#base}/users/me`, signal);
  }

  page(id: string, signal: AbortSignal): Promise<NotionPage> {
    return this.#client.json(`${this.#base}/pages/${id}`, signal);
  }

  database(id: string, signal: AbortSignal): Promise<NotionDatabase> {
    return this.#client.json(`${this.#base}/databases/${id}`, signal);
  }

  block(id: string, signal: AbortSignal): Promise<NotionBlock> {
    return this.#client.json(`${this.#base}/blocks/${id}`, signal);
  }

  /** All pages and data sources that the integration can read. */
  search(signal: AbortSignal): AsyncGenerator<NotionPage | NotionDataSource> {
    return this.#post('/search', signal);
  }

  /** The pages of all data sources of a database. */
  async *query(databaseId: string, signal: AbortSignal): AsyncGenerator<NotionPage> {
    const { data_sources: sources } = await this.database(databaseId, signal);
    for (const { id } of sources) yield* this.#post<NotionPage>(`/data_sources/${id}/query`, signal);
  }

  /** The blocks directly below a page or block. */
  children(blockId: string, signal: AbortSignal): AsyncGenerator<NotionBlock> {
    return this.#results((cursor) => {
      const query = new URLSearchParams({
        page_size: String(RESULTS_PER_PAGE),
        ...(cursor !== null && { start_cursor: cursor }),
      });
      return this.#client.json(`${this.#base}/blocks/${blockId}/children?${query}`, signal);
    });
  }

  #post<T>(path: string, signal: AbortSignal): AsyncGenerator<T> {
    return this.#results((cursor) => {
      const body = { page_size: RESULTS_PER_PAGE, ...(cursor !== null && { start_cursor: cursor }) };
      return this.#client.json(`${this.#base}${path}`, signal, { method: 'POST', body: JSON.stringify(body) });
    });
  }

  #results<T>(load: (cursor: string | null) => Promise<ResultPage<T>>): AsyncGenerator<T> {
    return readPages(async (cursor) => {
      const { results, has_more, next_cursor } = await load(cursor);
      return { items: results, next: has_more ? next_cursor : null };
    });
  }
}

/** Returns an id in lower case without dashes, so that ids compare. */
export function normalizeId(id: string): string {
  return id.replaceAll('-', '').toLowerCase();
}

/** Returns the text of rich text. */
export function plainText(text: unknown): string {
  return Array.isArray(text) ? (text as RichText).map(({ plain_text }) => plain_text ?? '').join('') : '';
}

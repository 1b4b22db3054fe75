import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { MUST } from '../../http/validation.ts';
import { COMMON_FIELDS, MAX_LISTED, REMOTE_FIELDS, Secret } from '../config-fields.ts';
import type { Connector, SourceItem } from '../connector.ts';
import type { GuardedHttp } from '../http/guarded-http.ts';
import { readBlocks } from './blocks-to-markdown.ts';
import { listPages } from './list-pages.ts';
import { NotionApi, type NotionPage, normalizeId } from './notion-api.ts';
import { pageTitle, propertyMetadata } from './page-properties.ts';

const BASE = 'https://api.notion.com';
/** Average rate that Notion allows: https://developers.notion.com/reference/request-limits */
const REQUESTS_PER_SECOND = 3;
/** Times of edits are rounded to minutes. A page edited more recently is read again by the next sync. */
const EDIT_PRECISION_MS = 120_000;

/** A UUID with or without dashes. */
const NotionId = Type.String({
  pattern: '^[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}$',
  [MUST]: 'be the id of a page or database: 32 hexadecimal digits, with or without dashes',
});
const Ids = (description: string) =>
  Type.Optional(Type.Array(NotionId, { minItems: 1, maxItems: MAX_LISTED, description }));

const Config = Type.Object({
  page_ids: Ids(
    'Pages with their subpages. Without `page_ids` and `database_ids`: everything that the integration can read.',
  ),
  database_ids: Ids('Databases with their pages.'),
  credentials: Type.Object({ integration_token: Secret }),
  ...COMMON_FIELDS,
  ...REMOTE_FIELDS,
});

/** Pages of a Notion workspace. */
export const notion = createNotion(BASE);

/** Creates the connector for an API server. */
export function createNotion(base: string, requestsPerSecond = REQUESTS_PER_SECOND): Connector<typeof Config> {
  const open = (http: GuardedHttp, { credentials }: { credentials: { integration_token: string } }, retries?: number) =>
    new NotionApi(http, { base, requestsPerSecond, token: credentials.integration_token, retries });
  return {
    type: 'notion',
    config: Config,
    secretFields: ['credentials'],
    confirmsDeletions: true,
    async checkAccess(http, config, signal) {
      const api = open(http, config, 0);
      const [page] = config.page_ids ?? [];
      const [database] = config.database_ids ?? [];
      if (page !== undefined) await api.page(page, signal);
      if (database !== undefined) await api.database(database, signal);
      if (page === undefined && database === undefined) await api.me(signal);
    },
    async *list({ http, now }, config, signal) {
      for await (const page of listPages(open(http, config), config, signal)) yield toItem(page, now());
    },
    async fetch({ http }, config, { key, details }, signal) {
      const api = open(http, config);
      const { page } = details as { page: NotionPage };
      const title = pageTitle(page);
      const text = `# ${title}\n\n${await readBlocks(api, key, signal)}\n`;
      const metadata = { ...propertyMetadata(page), title, last_modified: page.last_edited_time };
      return { bytes: Readable.from([Buffer.from(text)]), filename: `${key}.md`, mediaType: 'text/markdown', metadata };
    },
  };
}

function toItem(page: NotionPage, now: number): SourceItem {
  const edited = page.last_edited_time;
  const isRecent = now - Date.parse(edited) < EDIT_PRECISION_MS;
  return {
    key: normalizeId(page.id),
    fingerprint: isRecent ? `${edited} recent` : edited,
    name: pageTitle(page),
    uri: page.url,
    details: { page },
  };
}

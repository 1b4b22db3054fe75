import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { MUST } from '../../http/validation.ts';
import { COMMON_FIELDS, HttpUrl, MAX_LISTED, REMOTE_FIELDS, Secret } from '../config-fields.ts';
import type { Connector, SourceItem } from '../connector.ts';
import { isSupportedFile } from '../file-formats.ts';
import { type Attachment, ConfluenceApi, type ConfluencePage, type Space } from './confluence-api.ts';
import { storageToMarkdown } from './storage-to-markdown.ts';

/** Space keys. Keys of personal spaces begin with a tilde. */
const SpaceKey = Type.String({
  pattern: '^~?[A-Za-z0-9._:-]{1,255}$',
  [MUST]:
    'be the key of a space, such as ENG or ~7120abc: at most 255 letters, digits, dots, dashes, underscores and colons',
});
/** Maximum ancestors of a page. */
const MAX_ANCESTORS = 100;
/** Prefix of the keys of attachments. Keys of pages are numbers. */
const ATTACHMENT = 'attachment:';

const Config = Type.Object({
  url: HttpUrl,
  space_keys: Type.Optional(
    Type.Array(SpaceKey, {
      minItems: 1,
      maxItems: MAX_LISTED,
      description: 'Default: all spaces that the account can read.',
    }),
  ),
  credentials: Type.Object({
    email: Type.String({
      pattern: '^[^@\\s]+@[^@\\s]+$',
      [MUST]: 'be an email address',
      maxLength: 320,
      description: 'Shown as `***`.',
    }),
    api_token: Secret,
  }),
  ...COMMON_FIELDS,
  ...REMOTE_FIELDS,
});

/** Pages and attachments of a Confluence Cloud site. */
export const confluence: Connector<typeof Config> = {
  type: 'confluence',
  config: Config,
  secretFields: ['credentials'],
  secretDestinations: ['url'],
  confirmsDeletions: true,
  checkAccess: (http, config, signal) => new ConfluenceApi(http, config, 0).check(config.space_keys, signal),
  async *list({ http }, config, signal) {
    const api = new ConfluenceApi(http, config);
    const places = new Map<string, Record<string, unknown>>();
    for (const space of await api.spaces(config.space_keys, signal)) {
      const pages = new Map<string, ConfluencePage>();
      // A parent may follow its children.
      for await (const page of api.listPages(space, signal)) pages.set(page.id, page);
      for (const page of pages.values()) {
        const item = toItem(api, space, page, pages);
        places.set(page.id, item.details ?? {});
        yield item;
      }
    }
    for await (const attachment of api.attachments(signal)) {
      const { id, title, version, pageId = '', downloadLink, webuiLink } = attachment;
      const place = places.get(pageId);
      if (place === undefined || !isSupportedFile(title)) continue;
      const uri = `${api.root}${webuiLink ?? downloadLink}`;
      const details = { ...place, attachment };
      yield { key: `${ATTACHMENT}${id}`, fingerprint: fingerprint(version.number, place), name: title, uri, details };
    }
  },
  async fetch({ http }, config, { key, details }, signal) {
    const api = new ConfluenceApi(http, config);
    if (key.startsWith(ATTACHMENT)) {
      const { attachment, ...metadata } = details as { attachment: Attachment };
      const { title, mediaType = null, downloadLink } = attachment;
      return { bytes: await api.download(downloadLink, signal), filename: title, mediaType, metadata };
    }
    const { title, body, labels, version } = await api.page(key, signal);
    const text = `# ${title}\n\n${storageToMarkdown(body?.storage?.value ?? '')}\n`;
    const metadata = {
      ...details,
      title,
      labels: labels?.results.map(({ name }) => name) ?? [],
      ...(version.createdAt !== undefined && { last_modified: version.createdAt }),
    };
    return { bytes: Readable.from([Buffer.from(text)]), filename: `${key}.md`, mediaType: 'text/markdown', metadata };
  },
};

function toItem(
  { root }: ConfluenceApi,
  { key: space, name }: Space,
  page: ConfluencePage,
  pages: ReadonlyMap<string, ConfluencePage>,
): SourceItem {
  const ancestors: string[] = [];
  let parent = pages.get(page.parentId ?? '');
  while (parent !== undefined && ancestors.length < MAX_ANCESTORS) {
    ancestors.unshift(parent.title);
    parent = pages.get(parent.parentId ?? '');
  }
  const details = { space, space_name: name, ancestors };
  const uri = `${root}${page._links.webui}`;
  return { key: page.id, fingerprint: fingerprint(page.version.number, details), name: page.title, uri, details };
}

/** Covers the place of a page: renaming an ancestor does not change the version of the page. */
function fingerprint(version: number, details: object): string {
  return `${version} ${createHash('sha256').update(JSON.stringify(details)).digest('hex')}`;
}

import { Type } from 'typebox';
import { MUST } from '../http/validation.ts';
import { BY_SERVICE_ACCOUNT, COMMON_FIELDS, Endpoint, REMOTE_FIELDS, ServiceAccount } from './config-fields.ts';
import type { Connector } from './connector.ts';
import { isSupportedFile } from './file-formats.ts';
import { createGoogleClient } from './google-api.ts';
import type { GuardedHttp } from './http/guarded-http.ts';
import { readPages } from './http/rest-client.ts';

/** Bucket naming rules of Google Cloud Storage. */
const BUCKET = {
  pattern:
    '^(?=.{3,222}$)(?!\\d+\\.\\d+\\.\\d+\\.\\d+$)[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?(\\.[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?)*$',
  [MUST]:
    'be 3 to 222 lower-case letters, digits, dashes and underscores, with dots between parts of at most 63 that begin and end with a letter or digit, and no IP address',
};
/** Maximum characters of an object name. */
const MAX_NAME_CHARACTERS = 1024;
const DEFAULT_ENDPOINT = 'https://storage.googleapis.com';
const SCOPE = 'https://www.googleapis.com/auth/devstorage.read_only';
/** Maximum of the API. */
const OBJECTS_PER_PAGE = 1000;
const FIELDS = 'items(name,generation,metageneration,contentType,updated,metadata),nextPageToken';

const Config = Type.Object({
  bucket: Type.String(BUCKET),
  prefix: Type.Optional(
    Type.String({ maxLength: MAX_NAME_CHARACTERS, description: 'Only objects whose name starts with this prefix.' }),
  ),
  endpoint: Endpoint('https://storage.googleapis.com'),
  credentials: ServiceAccount,
  ...COMMON_FIELDS,
  ...REMOTE_FIELDS,
});

/** Page of https://cloud.google.com/storage/docs/json_api/v1/objects/list */
interface ObjectPage {
  items?: (ObjectFacts & { name: string; generation: string; metageneration: string })[];
  nextPageToken?: string;
}

/** https://cloud.google.com/storage/docs/json_api/v1/objects#resource */
interface ObjectFacts {
  contentType?: string;
  updated?: string;
  metadata?: Record<string, string>;
}

type GcsConfig = Parameters<NonNullable<Connector<typeof Config>['check']>>[0];

/** Objects of a Google Cloud Storage bucket, read through the JSON API. */
export const gcs: Connector<typeof Config> = {
  type: 'gcs',
  config: Config,
  ...BY_SERVICE_ACCOUNT,
  secretDestinations: ['endpoint'],
  confirmsDeletions: true,
  async checkAccess(http, config, signal) {
    await createClient(http, config, 0).json(listUrl(config, null, 1), signal);
  },
  async *list({ http }, config, signal) {
    const client = createClient(http, config);
    const objects = readPages(async (pageToken) => {
      const page = await client.json<ObjectPage>(listUrl(config, pageToken, OBJECTS_PER_PAGE), signal);
      return { items: page.items, next: page.nextPageToken };
    });
    for await (const { name, generation, metageneration, ...details } of objects) {
      if (!isSupportedFile(name)) continue;
      const uri = `gs://${config.bucket}/${name}`;
      yield { key: name, fingerprint: `${generation}.${metageneration}`, name, uri, details };
    }
  },
  async fetch({ http }, config, { key, details = {} }, signal) {
    const client = createClient(http, config);
    const url = `${bucketUrl(config)}/o/${encodeURIComponent(key)}`;
    const { contentType, updated, metadata } = details as ObjectFacts;
    const { body } = await client.download(`${url}?alt=media`, signal);
    const facts = { ...(updated !== undefined && { last_modified: updated }) };
    return { bytes: body, filename: key, mediaType: contentType ?? null, metadata: { ...metadata, ...facts } };
  },
};

function createClient(http: GuardedHttp, { credentials }: GcsConfig, retries?: number) {
  return createGoogleClient(http, { service: 'Google Cloud Storage', credentials, scope: SCOPE, retries });
}

function bucketUrl({ endpoint = DEFAULT_ENDPOINT, bucket }: GcsConfig): string {
  return `${endpoint.replace(/\/+$/, '')}/storage/v1/b/${encodeURIComponent(bucket)}`;
}

function listUrl(config: GcsConfig, pageToken: string | null, maxResults: number): string {
  const query = new URLSearchParams({ maxResults: String(maxResults), fields: FIELDS });
  if (config.prefix !== undefined) query.set('prefix', config.prefix);
  if (pageToken !== null) query.set('pageToken', pageToken);
  return `${bucketUrl(config)}/o?${query}`;
}

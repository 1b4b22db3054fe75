import { type Static, Type } from 'typebox';
import { invalidValue } from '../errors.ts';
import { MUST } from '../http/validation.ts';
import { isRecord, parseJson } from '../lib/json.ts';

/** Maximum characters of a URL that browsers and servers accept. */
const MAX_URL_CHARACTERS = 2048;
/** Maximum characters of a password, key or token. */
const MAX_SECRET_CHARACTERS = 4096;
/** Maximum characters of a service account key; real ones have about 2,400. */
const MAX_ACCOUNT_CHARACTERS = 16_384;
/** Maximum ids, keys or URLs in one list. */
export const MAX_LISTED = 1000;

/** Ten years, in seconds. */
const MAX_EXPIRY_SECONDS = 315_360_000;

/** Fields of every config. */
export const COMMON_FIELDS = {
  metadata: Type.Optional(
    Type.Record(Type.String(), Type.Unknown(), {
      description:
        'Metadata for every document of this source, at most 64 KiB. Overrides the metadata of the documents themselves.',
    }),
  ),
  text_fields: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
      minItems: 1,
      maxItems: 16,
      description:
        'Fields of JSON and JSONL files that hold the text, joined in this order. Default: `text`, `content`, `body` or `page_content`, whichever comes first, or else `question` and `answer`.',
    }),
  ),
  expires_after: Type.Optional(
    Type.Integer({
      minimum: 60,
      maximum: MAX_EXPIRY_SECONDS,
      description:
        'Seconds after which a document expires, from its `updated_at`. A sync does not ingest an expired item again until its content changes or `expires_after` is removed. Default: never.',
    }),
  ),
};

/** Fields of every config of a remote service. */
export const REMOTE_FIELDS = {
  schedule: Type.Optional(
    Type.String({
      maxLength: 256,
      description:
        'Syncs by themselves: an interval such as `30m`, `6h` or `1d`, or a cron expression of five fields in UTC such as `0 3 * * *`. At least five minutes apart. Default: only on request.',
    }),
  ),
};

/** URL of a page or a server. `requirePlainUrl` rejects URLs with credentials. */
export const HttpUrl = Type.String({
  // Schemes are case-insensitive.
  pattern: '^[hH][tT][tT][pP][sS]?://[^\\s/?#]\\S*$',
  [MUST]: "begin with 'http://' or 'https://', name a server, and have no blanks",
  maxLength: MAX_URL_CHARACTERS,
  description: '`http` or `https`, without user and password.',
});

/** Server of an API, for compatible stores and private gateways. */
export const Endpoint = (defaultServer: string) =>
  Type.Optional({ ...HttpUrl, description: `Server of the API, \`http\` or \`https\`. Default: ${defaultServer}.` });

/** A password, key or token. ASCII, because it is sent in a header. */
export const Secret = Type.String({
  writeOnly: true,
  pattern: '^[\\x21-\\x7e]+$',
  [MUST]: 'be letters, digits and signs of ASCII, without blanks, and not empty',
  maxLength: MAX_SECRET_CHARACTERS,
  description: 'Encrypted at rest, shown as `***`.',
});

/** The key of a Google service account. `BY_SERVICE_ACCOUNT` validates its content. */
export const ServiceAccount = Type.Object({
  service_account_json: Type.Union(
    [Type.String({ minLength: 1, maxLength: MAX_ACCOUNT_CHARACTERS }), Type.Record(Type.String(), Type.Unknown())],
    {
      writeOnly: true,
      description: 'The key file of the account, as a string or an object. Encrypted at rest, shown as `***`.',
    },
  ),
});

/** Throws 400 naming `param` for an invalid URL and for one with credentials. */
export function requirePlainUrl(url: string, param: string): void {
  if (!URL.canParse(url)) throw invalidValue(param, 'must be a URL');
  const { username, password } = new URL(url);
  if (username !== '' || password !== '') throw invalidValue(param, 'must not contain a user name or password');
}

/** Common parts of connectors whose `credentials` are a Google service account. */
export const BY_SERVICE_ACCOUNT = {
  secretFields: ['credentials'],
  /** Returns the config with the key as an object. Throws 400 for an invalid key. */
  check: <T extends { credentials: Static<typeof ServiceAccount> }>(config: T): T => ({
    ...config,
    credentials: { service_account_json: parseServiceAccount(config.credentials.service_account_json) },
  }),
};

/** Parses a service account key. Throws 400 for an invalid one, without its content in the message. */
function parseServiceAccount(key: string | Record<string, unknown>): Record<string, unknown> {
  const param = 'config.credentials.service_account_json';
  const account = typeof key === 'string' ? parseJson(key) : key;
  if (!isRecord(account)) throw invalidValue(param, 'must be the JSON of a service account key file');
  const { client_email, private_key } = account;
  if (typeof client_email !== 'string' || !/^[^@\s]+@[^@\s]+$/.test(client_email)) {
    throw invalidValue(`${param}.client_email`, 'must be the email address of the service account');
  }
  if (typeof private_key !== 'string' || !private_key.includes('-----BEGIN PRIVATE KEY-----')) {
    throw invalidValue(`${param}.private_key`, 'must be a private key in PEM format');
  }
  return account;
}

import { type Static, Type } from 'typebox';
import { invalidValue } from '../../../errors.ts';
import { MUST } from '../../../http/validation.ts';
import { MetadataObject } from '../../schema.ts';

/** Characters of a URL, as browsers and servers agree on. */
const MAX_URL_CHARACTERS = 2048;
/** Characters of a password, key or token. */
const MAX_SECRET_CHARACTERS = 4096;
/** Bytes of a service account's key: real ones have about 2,400. */
const MAX_ACCOUNT_CHARACTERS = 16_384;
/** Ids, keys or URLs of one list. */
export const MAX_LISTED = 1000;

/** What every config may have. */
export const COMMON_FIELDS = {
  metadata: Type.Optional({
    ...MetadataObject,
    description:
      'Metadata of every document of this source, at most 64 KiB. It wins over what a document says of itself.',
  }),
};

/** The address of a page or a server. What has a user or a password in it is refused by `requirePlainUrl`. */
export const HttpUrl = Type.String({
  // In any case, as schemes are.
  pattern: '^[hH][tT][tT][pP][sS]?://[^\\s/?#]\\S*$',
  [MUST]: "begin with 'http://' or 'https://', name a server, and have no blanks",
  maxLength: MAX_URL_CHARACTERS,
  description: '`http` or `https`, without user and password.',
});

/** A password, key or token: it becomes part of a header. */
export const Secret = Type.String({
  pattern: '^[\\x21-\\x7e]+$',
  [MUST]: 'be letters, digits and signs of ASCII, without blanks, and not empty',
  maxLength: MAX_SECRET_CHARACTERS,
  description: 'Sealed when it is stored, shown as `***`.',
});

/** The key of a Google service account. `BY_SERVICE_ACCOUNT` checks what is in it. */
export const ServiceAccount = Type.Object({
  service_account_json: Type.Union(
    [Type.String({ minLength: 1, maxLength: MAX_ACCOUNT_CHARACTERS }), Type.Record(Type.String(), Type.Unknown())],
    { description: "The account's key file, as a text or as an object. Sealed when it is stored, shown as `***`." },
  ),
});

/** Throws 400 naming `param` for a URL that no server can be reached at, and for one that holds a password. */
export function requirePlainUrl(url: string, param: string): void {
  if (!URL.canParse(url)) throw invalidValue(param, 'must be a URL');
  const { username, password } = new URL(url);
  if (username !== '' || password !== '') throw invalidValue(param, 'must not have a user or a password in it');
}

/** What connectors have in common whose `credentials` are a service account's. */
export const BY_SERVICE_ACCOUNT = {
  secretFields: ['credentials'],
  /** The config with the account as an object. Throws 400 for what is none. */
  check: <T extends { credentials: Static<typeof ServiceAccount> }>(config: T): T => ({
    ...config,
    credentials: { service_account_json: accountOf(config.credentials.service_account_json) },
  }),
};

/** The key file of a service account as an object. Throws 400 for what is none; its content is in no message. */
function accountOf(given: string | Record<string, unknown>): Record<string, unknown> {
  const param = 'config.credentials.service_account_json';
  const account = typeof given === 'string' ? objectOf(given) : given;
  if (account === null) throw invalidValue(param, 'must be the JSON of a service account key file');
  const { client_email, private_key } = account;
  if (typeof client_email !== 'string' || !/^[^@\s]+@[^@\s]+$/.test(client_email)) {
    throw invalidValue(`${param}.client_email`, 'must be the address of the service account');
  }
  if (typeof private_key !== 'string' || !private_key.includes('-----BEGIN PRIVATE KEY-----')) {
    throw invalidValue(`${param}.private_key`, 'must be a private key in PEM form');
  }
  return account;
}

function objectOf(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown> | null) : null;
  } catch {
    // What Node says of a text that is no JSON quotes it.
    return null;
  }
}

import { monotonicFactory } from 'ulid';

/** The prefix of each kind of identifier, with the separator that the interface writes after it. */
export const ID_PREFIXES = {
  organization: 'org_',
  apiKey: 'key_',
  chatCompletion: 'chatcmpl-',
  textCompletion: 'cmpl-',
  toolCall: 'call_',
  request: 'req_',
  usage: 'use_',
} as const;

/** What an identifier identifies. */
export type IdKind = keyof typeof ID_PREFIXES;

const nextUlid = monotonicFactory();

/** A ULID in lower case: 26 characters that begin with the milliseconds of now. */
const ULID = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/;

/** A new identifier, such as `chatcmpl-01k...`: later ones of this process sort after earlier ones of the same kind. */
export function newId(kind: IdKind): string {
  return ID_PREFIXES[kind] + nextUlid().toLowerCase();
}

/** Whether `text` has the shape of an identifier of that kind, whether or not such a thing exists. */
export function isId(kind: IdKind, text: string): boolean {
  const prefix = ID_PREFIXES[kind];
  return text.startsWith(prefix) && ULID.test(text.slice(prefix.length));
}

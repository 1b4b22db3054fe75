import { randomFillSync } from 'node:crypto';
import { monotonicFactory } from 'ulid';

/** The prefix of each kind of identifier, with the separator that the interface writes after it. */
export const ID_PREFIXES = {
  organization: 'org_',
  apiKey: 'key_',
  chatCompletion: 'chatcmpl-',
  textCompletion: 'cmpl-',
  toolCall: 'call_',
  moderation: 'modr-',
  file: 'file-',
  knowledgeBase: 'kb_',
  dataSource: 'ds_',
  document: 'doc_',
  chunk: 'chunk_',
  ingestionJob: 'job_',
  request: 'req_',
  usage: 'use_',
} as const;

/** What an identifier identifies. */
export type IdKind = keyof typeof ID_PREFIXES;

/** Random bytes are drawn this many at a time: one call for each of a ULID's 16 random characters costs 20 times more. */
const POOL_BYTES = 4096;
const pool = Buffer.alloc(POOL_BYTES);
let poolAt = POOL_BYTES;

/** A random number from 0 up to, not including, 1, in steps of 1/256: ULIDs use five bits of it. */
function random(): number {
  if (poolAt === POOL_BYTES) {
    randomFillSync(pool);
    poolAt = 0;
  }
  const byte = pool[poolAt] ?? 0;
  poolAt += 1;
  return byte / 256;
}

const nextUlid = monotonicFactory(random);

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

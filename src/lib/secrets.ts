import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** First byte of what is sealed: AES-256-GCM, then 12 bytes of nonce, the sealed text, and 16 bytes of tag. */
const VERSION = 1;
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
/** What GCM is made for (NIST SP 800-38D, 5.2.1.1): random ones of one key meet after far more seals than there are data sources. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Says what the key is for: the same text used elsewhere gives another key. */
const PURPOSE = 'quire secrets 1';

/** Seals texts that must not lie in the database as they are. */
export interface Secrets {
  /** Base64 of the sealed text. It opens only with the same `owner`: the id of the row that it is written to. */
  seal(text: string, owner: string): string;
  /** The text. Throws `CannotOpen` for what another key has sealed, another owner's, and what was changed. */
  open(sealed: string, owner: string): string;
}

/** Nothing opens it: it was sealed with another key, for another owner, or is damaged. */
export class CannotOpen extends Error {
  override readonly name = 'CannotOpen';
  constructor() {
    super('what is sealed does not open with the key of this service');
  }
}

/**
 * Seals with a key that is made of `secret` by HKDF-SHA-256: a random text of at least 128 bits, not a word that people choose.
 * Opens with it too, and with each of the `earlier` ones.
 */
export function secretsOf(secret: string, earlier: readonly string[] = []): Secrets {
  const key = keyOf(secret);
  const keys = [key, ...earlier.map(keyOf)];
  return {
    seal: (text, owner) => seal(key, text, owner),
    open: (sealed, owner) => {
      for (const candidate of keys) {
        const text = open(candidate, sealed, owner);
        if (text !== null) return text;
      }
      throw new CannotOpen();
    },
  };
}

/** RFC 5869. No salt: every process that has the secret must come to the same key. */
function keyOf(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', PURPOSE, KEY_BYTES));
}

function seal(key: Buffer, text: string, owner: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(Buffer.from(owner));
  const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([Buffer.from([VERSION]), nonce, sealed, cipher.getAuthTag()]).toString('base64');
}

function open(key: Buffer, sealed: string, owner: string): string | null {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < 1 + NONCE_BYTES + TAG_BYTES || bytes[0] !== VERSION) return null;
  const nonce = bytes.subarray(1, 1 + NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  decipher.setAAD(Buffer.from(owner));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    const text = decipher.update(bytes.subarray(1 + NONCE_BYTES, -TAG_BYTES));
    return Buffer.concat([text, decipher.final()]).toString('utf8');
  } catch {
    return null;
  }
}

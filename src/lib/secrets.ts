import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** Version byte of a sealed value: AES-256-GCM, followed by nonce (12 bytes), ciphertext and tag (16 bytes). */
const VERSION = 1;
const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
/** Nonce size of NIST SP 800-38D, 5.2.1.1. Random nonces are safe for 2^32 seals per key. */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** HKDF info: separates this key from other keys derived from the same secret. */
const PURPOSE = 'quire secrets 1';

/** Encrypts credentials at rest. */
export interface Secrets {
  /** Returns base64 ciphertext. Opens only with the same `owner` (the id of the row that stores it). */
  seal(text: string, owner: string): string;
  /** Decrypts. Throws `DecryptionError` for another key, another owner, or modified ciphertext. */
  open(sealed: string, owner: string): string;
}

/** The value was sealed with another key, for another owner, or is damaged. */
export class DecryptionError extends Error {
  override readonly name = 'DecryptionError';
  constructor() {
    super('the value cannot be decrypted with the key of this service');
  }
}

/**
 * Creates `Secrets` with a key derived from `secret` by HKDF-SHA-256. `secret` must have at least 128 bits of entropy;
 * passwords are not enough. Values sealed with the `earlier` secrets can still be opened.
 */
export function createSecrets(secret: string, earlier: readonly string[] = []): Secrets {
  const key = deriveKey(secret);
  const keys = [key, ...earlier.map(deriveKey)];
  return {
    seal: (text, owner) => seal(key, text, owner),
    open: (sealed, owner) => {
      for (const candidate of keys) {
        const text = open(candidate, sealed, owner);
        if (text !== null) return text;
      }
      throw new DecryptionError();
    },
  };
}

/** RFC 5869 without salt: every process with the secret derives the same key. */
function deriveKey(secret: string): Buffer {
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

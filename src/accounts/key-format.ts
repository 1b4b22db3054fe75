import { hash, randomBytes } from 'node:crypto';

/** Every key begins with this, so that scanners for leaked secrets can find one. */
export const KEY_PREFIX = 'quire-sk-';
/** 256 bits: cannot be guessed, which is why a plain SHA-256 of it is enough to store. */
const SECRET_BYTES = 32;
/** Longer than any key of ours: what is longer is not looked up, nor hashed. */
export const MAX_KEY_CHARACTERS = 256;

/** A new key, to be shown once. */
export function newKey(): string {
  return KEY_PREFIX + randomBytes(SECRET_BYTES).toString('base64url');
}

/** What is stored of a key: SHA-256, hexadecimal. */
export function hashKey(key: string): string {
  return hash('sha256', key);
}

import { hash, randomBytes } from 'node:crypto';

/** Prefix of every key, which lets secret scanners find leaked keys. */
export const KEY_PREFIX = 'quire-sk-';
/** 256 random bits cannot be guessed, so an unsalted SHA-256 is sufficient. */
const SECRET_BYTES = 32;
/** Longer keys are rejected before they are hashed. */
export const MAX_KEY_CHARACTERS = 256;

/** Generates an API key. */
export function generateKey(): string {
  return KEY_PREFIX + randomBytes(SECRET_BYTES).toString('base64url');
}

/** Returns the SHA-256 of a key, hexadecimal: the stored form. */
export function hashKey(key: string): string {
  return hash('sha256', key);
}

/** Last four characters of a key, by which people recognize it. */
export function keyHint(key: string): string {
  return key.slice(-4);
}

import { hash } from 'node:crypto';

/** Prefix lengths that are compared, in characters: each four times the one before. */
const PREFIX_CHARACTERS = [128, 512, 2_048, 8_192, 32_768, 131_072];
/** Hexadecimal digits of each hash. A collision of 32 bits only places two groups side by side. */
const HASH_DIGITS = 8;

/**
 * Returns a key by which prompts sort so that those with a long common prefix follow each other: the hashes of prefixes of growing length, and of the text.
 * `text` is the prompt in the order in which a model reads it.
 */
export function orderKey(text: string): string {
  const shorter = PREFIX_CHARACTERS.filter((length) => length < text.length);
  const hashes = [...shorter, text.length].map((length) => hash('sha1', text.slice(0, length), 'hex'));
  return hashes.map((digits) => digits.slice(0, HASH_DIGITS)).join('');
}

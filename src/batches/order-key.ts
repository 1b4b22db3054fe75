import { hash } from 'node:crypto';

/** Prefix lengths that are compared, in characters: each four times the one before. */
const PREFIX_CHARACTERS = [128, 512, 2_048, 8_192, 32_768, 131_072];
/** Hexadecimal digits of each hash. A collision of 32 bits only places two groups side by side. */
const HASH_DIGITS = 8;

/**
 * Returns the key of a prompt for `orderByPrefix`: hashes of its prefixes of growing length, and of all its text.
 * `text` is the prompt in the order in which a model reads it.
 */
export function orderKey(text: string): string {
  const shorter = PREFIX_CHARACTERS.filter((length) => length < text.length);
  const hashes = [...shorter, text.length].map((length) => hash('sha1', text.slice(0, length), 'hex'));
  return hashes.map((digits) => digits.slice(0, HASH_DIGITS)).join('');
}

/**
 * Orders lines so that those with a long common prefix follow each other, and others stay in their order: a file
 * without common prefixes is read from its beginning to its end. `at`: digits that the lines have in common.
 */
export function orderByPrefix<T extends { orderKey: string }>(lines: readonly T[], at = 0): T[] {
  const groups = new Map<string, T[]>();
  for (const line of lines) {
    const digits = line.orderKey.slice(at, at + HASH_DIGITS);
    const group = groups.get(digits);
    if (group === undefined) groups.set(digits, [line]);
    else group.push(line);
  }
  return [...groups].flatMap(([digits, group]) =>
    group.length === 1 || digits === '' ? group : orderByPrefix(group, at + HASH_DIGITS),
  );
}

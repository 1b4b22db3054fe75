/** A generator of uniform numbers in [0, 1), deterministic for a seed (mulberry32). */
export function seededUniform(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** `count` lower-case letters, deterministic for a seed. Each letter is one token of the random models. */
export function randomLetters(seed: number, count: number): string {
  const next = seededUniform(seed);
  let letters = '';
  for (let i = 0; i < count; i++) letters += String.fromCharCode(97 + Math.floor(next() * 26));
  return letters;
}

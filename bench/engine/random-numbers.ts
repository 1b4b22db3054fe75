/** A source of uniform numbers in 0..1 that gives the same ones for the same seed (mulberry32). */
export function uniformNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** Small letters, each of which is one token of the random models, the same for the same seed. */
export function randomLetters(seed: number, count: number): string {
  const next = uniformNumbers(seed);
  let letters = '';
  for (let i = 0; i < count; i++) letters += String.fromCharCode(97 + Math.floor(next() * 26));
  return letters;
}

/** True with `--short` (CI): fewer rounds and smaller bodies of the same attacks. */
export const IS_SHORT = process.env['QUIRE_ATTACK_SHORT'] === '1';

/** Returns `full` in `npm run test:attack`, `short` with `--short`. */
export const scaled = (full: number, short: number): number => (IS_SHORT ? short : full);

/** True in CI (`npm run test:attack -- --short`): fewer rounds and smaller bodies, the same classes of attack. */
export const IS_SHORT = process.env['QUIRE_ATTACK_SHORT'] === '1';

/** `full` in `npm run test:attack`, `short` in CI. */
export const scaled = (full: number, short: number): number => (IS_SHORT ? short : full);

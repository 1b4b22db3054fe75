/** Number of rounds of crash tests. Outcomes depend on timing, so more rounds find more defects. */
const DEFAULT_ROUNDS = 3;

/** Rounds per crash test, from `QUIRE_TEST_ROUNDS`. */
export const ROUNDS = Number(process.env['QUIRE_TEST_ROUNDS'] ?? DEFAULT_ROUNDS);

/** Disables the default time limit for tests that kill services: each round restarts the service. */
export const NO_TIME_LIMIT = { timeout: 60_000 + ROUNDS * 600_000 };

/** How often a crash test is repeated: what happens depends on the moment, so more rounds find more. */
const DEFAULT_ROUNDS = 3;

/** Rounds of each crash test, from `QUIRE_TEST_ROUNDS`. */
export const ROUNDS = Number(process.env['QUIRE_TEST_ROUNDS'] ?? DEFAULT_ROUNDS);

/** Runs a test that kills without the bound of the ordinary ones: a round starts the service, and there may be many. */
export const UNHURRIED = { timeout: 60_000 + ROUNDS * 600_000 };

import { TimedThread } from '../../lib/timed-thread.ts';

/** Texts of one completion with their schema. */
export interface SchemaValidation {
  schema: string;
  texts: readonly string[];
}

/** First violation, or null if all texts are valid. */
export interface SchemaVerdict {
  violation: string | null;
}

/** Time after which a validation is a long one. Only patterns that backtrack take more than milliseconds. */
const SLICE_MS = 500;
/** Time of a long validation. Its texts count as valid afterwards. */
const TIMEOUT_MS = 5_000;

const MODULE = new URL('./schema-thread.ts', import.meta.url);
const long = new TimedThread<SchemaValidation, SchemaVerdict>(MODULE, TIMEOUT_MS);
/** A validation cannot yield, so a long one is ended after a slice, and begins again in a thread for long ones. */
const short = new TimedThread<SchemaValidation, SchemaVerdict>(MODULE, SLICE_MS);

/**
 * Returns the first violation of a JSON schema; null for valid texts, and for a schema that cannot be compiled or takes
 * too long. `scope`: the organization.
 */
export async function findSchemaViolation(
  scope: string,
  schema: object,
  texts: readonly string[],
): Promise<string | null> {
  const validation = { schema: JSON.stringify(schema), texts };
  const verdict = (await short.run(scope, validation)) ?? (await long.run(scope, validation));
  return verdict?.violation ?? null;
}

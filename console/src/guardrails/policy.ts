import type { Schema } from '../api/types.ts';

/** A guardrail policy as the API lists it. */
export type Policy = Schema<'GuardrailPolicy'>;

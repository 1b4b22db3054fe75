import { Ajv } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

/** Decimals have no exact doubles: a quotient counts as whole up to this many decimal places. */
const STEP_PLACES = 9;

/** Validates values with Ajv; null when it rejects the schema. Drafts up to 7 and later ones use separate instances. */
export function validator(schema: Record<string, unknown>): ((value: unknown) => boolean) | null {
  const { $schema, ...rest } = schema;
  const isLate = /20(19|20)/.test(String($schema)) || JSON.stringify(rest).includes('"prefixItems"');
  const options = { strict: false, logger: false, multipleOfPrecision: STEP_PLACES, validateSchema: false } as const;
  try {
    const ajv = isLate ? new Ajv2020(options) : new Ajv(options);
    (addFormats as unknown as (to: unknown) => void)(ajv);
    const check = ajv.compile(rest);
    return (value) => check(value) === true;
  } catch {
    return null;
  }
}

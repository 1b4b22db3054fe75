import type { paths } from '../api/schema.d.ts';

/** A guardrail policy as the API lists it. */
export type Policy =
  paths['/v1/guardrail-policies']['get']['responses'][200]['content']['application/json']['data'][number];

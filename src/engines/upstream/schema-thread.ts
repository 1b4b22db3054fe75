/** Worker thread: validates texts against JSON schemas. Its parent bounds the time, as patterns may take for ever. */

import { parentPort } from 'node:worker_threads';
import { Ajv, type ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { parseJson } from '../../lib/json.ts';
import { LruMap } from '../../lib/lru-map.ts';
import type { TimedThreadReply } from '../../lib/timed-thread.ts';
import type { SchemaValidation, SchemaVerdict } from './schema-validator.ts';

const MAX_COMPILED = 64;
const compiled = new LruMap<string, ValidateFunction | null>(MAX_COMPILED);

/** Returns null for a schema that Ajv cannot compile: only the server knows its meaning. */
function compile(schema: string): ValidateFunction | null {
  const cached = compiled.get(schema);
  if (cached !== undefined) return cached;
  const validate = tryCompile(JSON.parse(schema));
  compiled.set(schema, validate);
  return validate;
}

function tryCompile(schema: object): ValidateFunction | null {
  // Formats are annotations in JSON Schema 2020-12, and servers do not enforce all of them.
  const options = { strict: false, validateFormats: false, logger: false } as const;
  const isDraft7 = '$schema' in schema && /draft-0[4-7]/.test(String(schema.$schema));
  try {
    return (isDraft7 ? new Ajv(options) : new Ajv2020(options)).compile(schema);
  } catch {
    return null;
  }
}

/** Returns the first violation; null for valid texts. */
function findViolation(schema: string, texts: readonly string[]): string | null {
  const validate = compile(schema);
  if (validate === null) return null;
  for (const text of texts) {
    const value = parseJson(text);
    if (value === undefined) return 'it is not JSON';
    if (!validate(value)) return `${validate.errors?.[0]?.instancePath ?? ''} ${validate.errors?.[0]?.message ?? ''}`;
  }
  return null;
}

const send = (reply: TimedThreadReply<SchemaVerdict>) => parentPort?.postMessage(reply);
parentPort?.on('message', ({ schema, texts }: SchemaValidation) => {
  send({ result: { violation: findViolation(schema, texts) } });
});
send('ready');

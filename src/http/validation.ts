import { Ajv, type ErrorObject } from 'ajv';
import addFormats from 'ajv-formats';
import type { FastifySchemaCompiler } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { type ApiError, invalidValue, missingField } from '../errors.ts';

/**
 * The keyword that says in words what a schema's `pattern` asks for, such as `be an address`: it completes the sentence "'param' must".
 * Nobody is shown a regular expression.
 */
export const MUST = 'x-must';

// Unknown fields pass, so that newer clients work; `strict` would refuse OpenAPI's own keywords (`examples`). `verbose` tells each error
// the schema that it breaks.
const OPTIONS = { useDefaults: true, strict: false, removeAdditional: false, verbose: true } as const;
const literal = withFormats(new Ajv({ ...OPTIONS, coerceTypes: false }));
const fromText = withFormats(new Ajv({ ...OPTIONS, coerceTypes: true }));

function withFormats(ajv: Ajv): Ajv {
  addFormats.default(ajv);
  return ajv;
}

/** JSON bodies are taken literally ("0.5" is not a number); query strings and paths are text, so they are coerced. */
export const compileValidator: FastifySchemaCompiler<object> = ({ schema, httpPart }) =>
  (httpPart === 'body' ? literal : fromText).compile(schema);

/** Checks `value` against `schema`, fills its defaults in place, and throws the interface's 400 naming `at.<path>`. */
export function parse<T extends TSchema>(schema: T, value: unknown, at: string): Static<T> {
  const validate = literal.compile(schema);
  if (validate(value)) return value as Static<T>;
  throw toApiError(validate.errors ?? [], at);
}

/**
 * The interface's error for what Ajv rejected. `param` is a dotted path such as `config.urls.0`. Where a value may have
 * several forms, Ajv reports what each form misses; the form that the value came closest to fails deepest, and is named.
 */
export function toApiError(errors: readonly ErrorObject[], at = ''): ApiError {
  const deepest = errors.reduce<ErrorObject | undefined>(
    (best, error) => (best === undefined || closerThan(best, error) ? error : best),
    undefined,
  );
  if (deepest === undefined) return invalidValue(at || 'body', 'is not accepted');
  const path = [at, ...deepest.instancePath.split('/').slice(1).map(unescapePointer)].filter(Boolean);
  if (deepest.keyword === 'required') return missingField([...path, deepest.params['missingProperty']].join('.'));
  const sameDepth = errors.filter((error) => error.instancePath === deepest.instancePath && error.keyword === 'type');
  const isOfNoType = deepest.keyword === 'type' && sameDepth.length > 1;
  return invalidValue(path.join('.') || 'body', isOfNoType ? anyOfTypes(sameDepth) : sentenceOf(deepest));
}

/** A form whose type the value has comes closer than those of other types. */
function closerThan(best: ErrorObject, error: ErrorObject): boolean {
  const deeper = depthOf(error) - depthOf(best);
  const isOfType = best.keyword === 'type' && error.keyword !== 'type' && error.keyword !== 'anyOf';
  return deeper > 0 || (deeper === 0 && isOfType);
}

/** A missing property lies one step below the object that misses it. */
function depthOf(error: ErrorObject): number {
  return error.instancePath.split('/').length + (error.keyword === 'required' ? 1 : 0);
}

function anyOfTypes(errors: readonly ErrorObject[]): string {
  return `must be ${[...new Set(errors.map((error) => typeWords(error.params['type'])))].join(' or ')}`;
}

function sentenceOf(error: ErrorObject): string {
  const { params } = error;
  if (error.keyword === 'enum') return `must be one of ${params['allowedValues'].filter(Boolean).join(', ')}`;
  if (error.keyword === 'const') return `must be ${JSON.stringify(params['allowedValue'])}`;
  if (error.keyword === 'type') return `must be ${typeWords(params['type'])}`;
  if (error.keyword === 'pattern') return `must ${error.parentSchema?.[MUST] ?? 'have another form'}`;
  return error.message ?? 'is not accepted';
}

function typeWords(type: string | string[]): string {
  return [type].flat().join(' or ');
}

/** JSON pointers write `~` and `/` within a name as `~0` and `~1`. */
function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

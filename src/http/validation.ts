import { Ajv, type ErrorObject } from 'ajv';
import addFormats from 'ajv-formats';
import type { FastifySchemaCompiler } from 'fastify';
import type { Static, TSchema } from 'typebox';
import { type ApiError, invalidValue, missingField } from '../errors.ts';
import { NULL_IS_ABSENT, nullRemover } from './null-fields.ts';

/**
 * Schema keyword that describes a `pattern` in words, such as `be an address`. It completes the message "'param' must",
 * so that no regular expression is shown.
 */
export const MUST = 'x-must';

// Unknown fields are accepted for newer clients. `strict` would reject OpenAPI keywords such as `examples`. `verbose`
// adds the schema to each error.
const OPTIONS = { useDefaults: true, strict: false, removeAdditional: false, verbose: true } as const;
const bodyAjv = withFormats(new Ajv({ ...OPTIONS, coerceTypes: false }));
const textAjv = withFormats(new Ajv({ ...OPTIONS, coerceTypes: true }));

function withFormats(ajv: Ajv): Ajv {
  addFormats.default(ajv);
  return ajv;
}

/** Compiles validators without type coercion for JSON bodies, and with coercion for query strings and paths. */
export const compileValidator: FastifySchemaCompiler<object> = ({ schema, httpPart }) =>
  httpPart === 'body' ? compileBody(schema) : textAjv.compile(schema);

interface Validate {
  (value: unknown): boolean;
  errors?: ErrorObject[] | null;
}

/** Ajv caches the compiled schema; the nulls of `NULL_IS_ABSENT` are removed before it runs. */
function compileBody(schema: object): Validate {
  const validate = bodyAjv.compile(schema);
  if (!(NULL_IS_ABSENT in schema)) return validate;
  const removeNulls = nullRemover(schema);
  const validateRest: Validate = (value) => {
    removeNulls(value);
    const isValid = validate(value);
    validateRest.errors = validate.errors ?? null;
    return isValid;
  };
  return validateRest;
}

/** Validates `value` and applies defaults in place. Throws 400 with the dotted path below `at`. */
export function parse<T extends TSchema>(schema: T, value: unknown, at: string): Static<T> {
  const validate = compileBody(schema);
  if (validate(value)) return value as Static<T>;
  throw toApiError(validate.errors ?? [], at);
}

/**
 * Converts Ajv errors to one error of the catalogue with the dotted path as `param`. For unions, Ajv reports the errors
 * of every member; the deepest error belongs to the member that matches best.
 */
export function toApiError(errors: readonly ErrorObject[], at = ''): ApiError {
  const deepest = errors.reduce<ErrorObject | undefined>(
    (best, error) => (best === undefined || isBetterMatch(best, error) ? error : best),
    undefined,
  );
  if (deepest === undefined) return invalidValue(at || 'body', 'is not accepted');
  const path = [at, ...deepest.instancePath.split('/').slice(1).map(unescapePointer)].filter(Boolean);
  if (deepest.keyword === 'required') return missingField([...path, deepest.params['missingProperty']].join('.'));
  const sameDepth = errors.filter((error) => error.instancePath === deepest.instancePath && error.keyword === 'type');
  const matchesNoType = deepest.keyword === 'type' && sameDepth.length > 1;
  return invalidValue(path.join('.') || 'body', matchesNoType ? anyOfTypes(sameDepth) : describeAjvError(deepest));
}

/** A union member whose type the value has matches better than members of other types. */
function isBetterMatch(best: ErrorObject, error: ErrorObject): boolean {
  const deeper = errorDepth(error) - errorDepth(best);
  const isOfType = best.keyword === 'type' && error.keyword !== 'type' && error.keyword !== 'anyOf';
  return deeper > 0 || (deeper === 0 && isOfType);
}

/** Returns the depth of an error. A missing property is one level below its object. */
function errorDepth(error: ErrorObject): number {
  return error.instancePath.split('/').length + (error.keyword === 'required' ? 1 : 0);
}

function anyOfTypes(errors: readonly ErrorObject[]): string {
  return `must be ${[...new Set(errors.map((error) => joinTypes(error.params['type'])))].join(' or ')}`;
}

function describeAjvError(error: ErrorObject): string {
  const { params } = error;
  if (error.keyword === 'enum') return `must be one of ${params['allowedValues'].filter(Boolean).join(', ')}`;
  if (error.keyword === 'const') return `must be ${JSON.stringify(params['allowedValue'])}`;
  if (error.keyword === 'type') return `must be ${joinTypes(params['type'])}`;
  if (error.keyword === 'pattern') return `must ${error.parentSchema?.[MUST] ?? 'have another form'}`;
  return error.message ?? 'is not accepted';
}

function joinTypes(type: string | string[]): string {
  return [type].flat().join(' or ');
}

/** Decodes a JSON pointer segment (RFC 6901): `~1` is `/`, `~0` is `~`. */
function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

import { invalidValue } from '../errors.ts';

/** Real requests nest up to about 30 levels (JSON schemas of tools); recursive functions are safe at this depth. */
const MAX_DEPTH = 128;

/**
 * Throws 400 for valid JSON that breaks later steps: lone surrogates (not encodable as UTF-8), member names that set a
 * prototype when copied (`__proto__`), and nesting beyond 128 levels (stack overflow in serializers). `param` is the
 * path of the value; for nesting, the top-level field.
 */
export function guardBody(body: unknown): void {
  // Building paths allocates per value, so the path is computed only after a violation was found.
  if (!isAcceptable(body, 1)) throwFirstViolation(body as object);
}

/** Recursion is bounded by `MAX_DEPTH`. */
function isAcceptable(value: unknown, depth: number): boolean {
  if (typeof value === 'string') return value.isWellFormed();
  if (typeof value !== 'object' || value === null) return true;
  if (depth > MAX_DEPTH) return false;
  if (Array.isArray(value)) return value.every((item) => isAcceptable(item, depth + 1));
  for (const name in value) {
    const member = (value as Record<string, unknown>)[name];
    if (isPrototypeName(name, member) || !name.isWellFormed() || !isAcceptable(member, depth + 1)) return false;
  }
  return true;
}

function isPrototypeName(name: string, member: unknown): boolean {
  return name === '__proto__' || (name === 'constructor' && isObject(member) && Object.hasOwn(member, 'prototype'));
}

function throwFirstViolation(body: object): never {
  // An explicit stack: the body may be nested deeper than the call stack.
  const stack: { value: object; path: string; depth: number }[] = [{ value: body, path: '', depth: 1 }];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    for (const [name, member] of Object.entries(at.value)) {
      const path = at.path === '' ? name : `${at.path}.${name}`;
      if (isPrototypeName(name, member)) throw invalidValue(path, 'has a reserved name');
      if (!name.isWellFormed() || (typeof member === 'string' && !member.isWellFormed())) {
        throw invalidValue(path.toWellFormed(), 'must be well-formed Unicode text');
      }
      if (!isObject(member)) continue;
      if (at.depth >= MAX_DEPTH) {
        throw invalidValue(path.slice(0, path.indexOf('.')), `must not be nested more than ${MAX_DEPTH} levels deep`);
      }
      stack.push({ value: member, path, depth: at.depth + 1 });
    }
  }
  throw new Error('the body has no violation');
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

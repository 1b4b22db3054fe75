import { invalidValue } from '../errors.ts';

/** Deeper than any real request (JSON schemas of tools reach about 30), and shallow enough for every recursive walk. */
const MAX_DEPTH = 128;

/**
 * Throws 400 for what is JSON but breaks later steps: text with lone surrogates, which UTF-8 cannot carry; names that stand for
 * the prototype of the object they are copied into; nesting beyond 128 levels, which overflows the stack of serializers.
 * `param` is the path; for nesting the field at the root.
 */
export function guardBody(body: unknown): void {
  // The path costs an allocation for each value, so it is looked for only when there is something to report.
  if (!isAcceptable(body, 1)) throwFirstViolation(body as object);
}

/** Recursion ends at `MAX_DEPTH`. */
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

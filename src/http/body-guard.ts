import { invalidValue } from '../errors.ts';

/** Deeper than any real request (JSON schemas of tools reach about 30), and shallow enough for every recursive walk. */
const MAX_DEPTH = 128;

/**
 * Refuses with 400 what is JSON but breaks what comes after: text with lone surrogates, which no UTF-8 can carry, names that stand
 * for the prototype of what they are copied into, and nesting beyond 128 levels, which overflows the stack of serialisers. `param` is the
 * path; for nesting the field at the root.
 */
export function guardBody(body: unknown): void {
  if (body === null || typeof body !== 'object') return;
  // An explicit stack: the walk itself must not overflow on what it looks for.
  const stack: { value: object; path: string; depth: number }[] = [{ value: body, path: '', depth: 1 }];
  for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
    for (const [key, value] of Object.entries(at.value)) {
      const isText = typeof value === 'string';
      const isSound = key.isWellFormed() && key !== '__proto__';
      if (isSound && (isText ? value.isWellFormed() : !isObject(value))) continue;
      const path = at.path === '' ? key : `${at.path}.${key}`;
      if (key === '__proto__' || (key === 'constructor' && Object.hasOwn(value, 'prototype'))) {
        throw invalidValue(path, 'has a name that is not taken anywhere');
      }
      if (isText || !key.isWellFormed()) throw invalidValue(path.toWellFormed(), 'must be well-formed Unicode text');
      if (at.depth >= MAX_DEPTH) {
        throw invalidValue(path.slice(0, path.indexOf('.')), `must not be nested more than ${MAX_DEPTH} levels deep`);
      }
      stack.push({ value: value as object, path, depth: at.depth + 1 });
    }
  }
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

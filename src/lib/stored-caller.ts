import type { Caller } from './caller.ts';

/** A caller as JSON: its sets are arrays. */
export type StoredCaller = Omit<Caller, 'scopes' | 'models'> & { scopes: string[]; models: string[] | null };

/** Converts a caller to JSON. */
export function storeCaller(caller: Caller): StoredCaller {
  return { ...caller, scopes: [...caller.scopes], models: caller.models === null ? null : [...caller.models] };
}

/** Restores a caller from JSON. */
export function restoreCaller(stored: StoredCaller): Caller {
  const { scopes, models } = stored;
  return { ...stored, scopes: new Set(scopes) as Caller['scopes'], models: models === null ? null : new Set(models) };
}

import { NAME_SEARCH } from '../api/address-values.ts';

/** Reads the text that a list is searched for. The router parses numbers. */
export function parseNameSearch({ q }: Record<string, unknown>): { q?: string } {
  return typeof q === 'string' || typeof q === 'number' ? { q: String(q).slice(0, NAME_SEARCH.maxLength) } : {};
}

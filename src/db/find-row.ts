import { notFound } from '../errors.ts';
import { type IdKind, isId } from '../lib/ids.ts';

/**
 * Returns the row that `select` finds. Throws 404 `<kind>_not_found` naming `param` if no row exists or the id is
 * malformed. Malformed ids are not queried, because PostgreSQL rejects NUL in text parameters.
 */
export async function findRow<T>(kind: IdKind, id: string, param: string, select: () => Promise<T | null>): Promise<T> {
  const row = isId(kind, id) ? await select() : null;
  if (row !== null) return row;
  const resource = kind.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  throw notFound(resource, id, param);
}

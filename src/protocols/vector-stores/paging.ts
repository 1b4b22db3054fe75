import { DEFAULT_PAGE_SIZE, type PageBounds, page } from '../../db/page.ts';
import { invalidValue } from '../../errors.ts';
import type { StoreListQuery } from './schema.ts';

/**
 * Reads a page of a list, after or before an item. `toCursor` returns the row id of an item; null begins the list anew.
 * `select` reads `limit + 1` rows.
 */
export async function readStorePage<Row, Item extends { id: string }>(
  { limit = DEFAULT_PAGE_SIZE, order = 'desc', after, before }: StoreListQuery,
  toCursor: (id: string, param: string) => string | null | Promise<string | null>,
  select: (bounds: PageBounds & { order: 'asc' | 'desc' }) => Promise<Row[]>,
  view: (rows: Row[]) => Item[] | Promise<Item[]>,
) {
  if (after !== undefined && before !== undefined) throw invalidValue('before', "must not be combined with 'after'");
  if (before === undefined) {
    const cursor = after === undefined ? null : await toCursor(after, 'after');
    return page(await view(await select({ limit, order, after: cursor })), limit);
  }
  // The page before an item is the page after it in the opposite order, reversed.
  const opposite = order === 'desc' ? 'asc' : 'desc';
  const rows = await select({ limit, order: opposite, after: await toCursor(before, 'before') });
  const listed = page(await view(rows.slice(0, limit).reverse()), limit);
  return { ...listed, has_more: rows.length > limit };
}

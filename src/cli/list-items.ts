/** Items of one page of a list. */
const PAGE_ITEMS = 100;

/** Yields every item of a list, page by page. `query` may contain filters and a start cursor (`after`). */
export async function* listItems<T>(
  path: string,
  query: Record<string, string>,
  fetchPage: (path: string) => Promise<{ data: T[]; has_more: boolean; last_id: string }>,
): AsyncGenerator<T, void, undefined> {
  for (let after = query['after']; ; ) {
    const search = new URLSearchParams({ limit: String(PAGE_ITEMS), ...query, ...(after && { after }) });
    const page = await fetchPage(`${path}?${search}`);
    yield* page.data;
    if (!page.has_more) return;
    after = page.last_id;
  }
}

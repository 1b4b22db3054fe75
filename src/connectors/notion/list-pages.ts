import { IngestionError, type JobErrorCode } from '../../extraction/ingestion-error.ts';
import { type NotionApi, type NotionDataSource, type NotionPage, normalizeId, type Parent } from './notion-api.ts';

/** Maximum length of a chain of parents. */
const MAX_ANCESTORS = 100;
/** Errors of a parent that the integration cannot read, unlike a page below. Other pages are still listed. */
const UNREADABLE: ReadonlySet<JobErrorCode> = new Set(['not_found', 'access_denied', 'connector_unavailable']);

/** The pages and databases that a data source selects. */
interface Selection {
  page_ids?: string[];
  database_ids?: string[];
}

/**
 * Lists pages, each once: those of the databases, those below the named pages, or all. Throws `not_found` when a named
 * page or database is not readable.
 */
export async function* listPages(
  api: NotionApi,
  { page_ids, database_ids }: Selection,
  signal: AbortSignal,
): AsyncGenerator<NotionPage> {
  const seen = new Set<string>();
  const isNew = (page: NotionPage | NotionDataSource): page is NotionPage => {
    const id = normalizeId(page.id);
    if (page.object !== 'page' || page.in_trash === true || seen.has(id)) return false;
    seen.add(id);
    return true;
  };
  for (const id of database_ids ?? []) {
    for await (const page of api.query(id, signal)) if (isNew(page)) yield page;
  }
  if (page_ids === undefined) {
    if (database_ids !== undefined) return;
    for await (const page of api.search(signal)) if (isNew(page)) yield page;
    return;
  }
  for (const id of page_ids) {
    const page = await api.page(id, signal);
    if (isNew(page)) yield page;
  }
  for await (const page of listDescendants(api, page_ids, signal)) if (isNew(page)) yield page;
}

/** Pages below one of the pages. Loads all readable pages first: a parent may follow its children. */
async function* listDescendants(
  api: NotionApi,
  rootIds: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<NotionPage> {
  const roots = new Set(rootIds.map(normalizeId));
  const pages: NotionPage[] = [];
  const parents = new Map<string, Parent>();
  for await (const object of api.search(signal)) {
    parents.set(normalizeId(object.id), object.parent);
    if (object.object === 'page') pages.push(object);
    else if (object.database_parent !== undefined) {
      parents.set(normalizeId(object.parent.database_id ?? object.id), object.database_parent);
    }
  }
  for (const page of pages) {
    let { parent } = page;
    for (let depth = 0; depth < MAX_ANCESTORS; depth++) {
      const id = parentId(parent);
      if (id === null) break;
      if (roots.has(id)) {
        yield page;
        break;
      }
      const above = parents.get(id) ?? (await loadParent(api, parent, signal));
      parents.set(id, above);
      parent = above;
    }
  }
}

function parentId({ page_id, database_id, block_id }: Parent): string | null {
  const id = page_id ?? database_id ?? block_id;
  return id === undefined ? null : normalizeId(id);
}

/** Looks up the parent of a block, such as a column, or of a page that the search left out. */
async function loadParent(api: NotionApi, parent: Parent, signal: AbortSignal): Promise<Parent> {
  try {
    if (parent.block_id !== undefined) return (await api.block(parent.block_id, signal)).parent;
    if (parent.database_id !== undefined) return (await api.database(parent.database_id, signal)).parent;
    return (await api.page(parent.page_id ?? '', signal)).parent;
  } catch (error) {
    if (error instanceof IngestionError && UNREADABLE.has(error.code)) return { type: 'workspace' };
    throw error;
  }
}

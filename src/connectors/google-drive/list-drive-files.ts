import { createHash } from 'node:crypto';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import { describeError } from '../../lib/operator-error.ts';
import type { ConnectorDeps } from '../connector.ts';
import type { DriveFile } from '../drive-store.ts';
import { ServiceError } from '../http/rest-client.ts';
import type { DriveApi } from './drive-api.ts';
import { type DriveSelection, DriveTree, FOLDER } from './drive-tree.ts';

/** A complete listing finds files that the change logs of Drive miss, such as folders that were shared before. */
const COMPLETE_LISTING_MS = 7 * 86_400_000;
/** Statuses of a page token that Drive does not know any more, and of a shared drive that is gone. */
const EXPIRED: ReadonlySet<number> = new Set([400, 404, 410]);

/** The folders and drives that a data source selects. */
export interface DriveScope {
  folderIds: readonly string[] | undefined;
  includeSharedDrives: boolean;
  /** Account, whose change logs are read. */
  account: string;
}

type Tokens = Record<string, string>;

/**
 * Lists files, each once: those in the folders with their subfolders, or all. Shortcuts lead to their targets. The
 * first sync lists them; later ones read the change logs, and list again when Drive no longer knows their position.
 * Throws `not_found` when a named folder is not readable.
 */
export async function* listDriveFiles(
  deps: Pick<ConnectorDeps, 'driveStore' | 'sourceId' | 'now' | 'logger'>,
  api: DriveApi,
  scope: DriveScope,
  signal: AbortSignal,
): AsyncGenerator<DriveFile> {
  const roots = await readRoots(api, scope.folderIds, signal);
  const stored = await deps.driveStore.select();
  const scopeHash = createHash('sha256').update(JSON.stringify(scope)).digest('hex');
  const isRecent = stored !== null && deps.now() - stored.listedAt.getTime() < COMPLETE_LISTING_MS;
  const rootIds = roots?.map(({ id }) => id) ?? null;
  let tree = new DriveTree(rootIds, stored?.files);
  let tokens = stored !== null && isRecent && stored.scope === scopeHash ? stored.tokens : null;
  if (tokens !== null)
    tokens = await applyChanges(deps, api, { tree, tokens, includeDrives: scope.includeSharedDrives }, signal);
  const isComplete = tokens === null;
  if (tokens === null) {
    // Before the listing, so that changes during the listing are read by the next sync.
    tokens = await startTokens(api, scope.includeSharedDrives, signal);
    tree = new DriveTree(
      rootIds,
      roots?.map((root) => ({ ...root, isListed: false })),
    );
    if (roots === null) await listAll(api, tree, Object.keys(tokens), signal);
  }
  const selection = await listFolders(api, tree, signal);
  const listedAt = isComplete ? new Date(deps.now()) : (stored?.listedAt ?? new Date(deps.now()));
  const before = stored?.files ?? [];
  await deps.driveStore.save({ scope: scopeHash, tokens, listedAt }, { before, files: [...tree.files] });
  yield* selection.files;
  for (const id of selection.targetIds) {
    const target = await readTarget(api, id, signal);
    if (target !== null) yield target;
  }
}

async function readRoots(api: DriveApi, ids: readonly string[] | undefined, signal: AbortSignal) {
  if (ids === undefined) return null;
  const roots: DriveFile[] = [];
  for (const id of ids) {
    const folder = await api.file(id, signal);
    const isFolder = folder.mimeType === FOLDER && folder.trashed !== true;
    if (!isFolder) throw new IngestionError('not_found', `'${id}' is not a folder, or it is in the trash.`);
    roots.push(folder);
  }
  return roots;
}

/** Returns the token of each change log: one for the account, one for each of its shared drives. */
async function startTokens(api: DriveApi, includeDrives: boolean, signal: AbortSignal): Promise<Tokens> {
  const tokens: Tokens = { '': await api.startPageToken(null, signal) };
  for (const id of includeDrives ? await api.driveIds(signal) : []) tokens[id] = await api.startPageToken(id, signal);
  return tokens;
}

/** Applies the changes since the tokens. Returns the new tokens; null when a complete listing is needed. */
async function applyChanges(
  { logger, sourceId }: Pick<ConnectorDeps, 'logger' | 'sourceId'>,
  api: DriveApi,
  { tree, tokens, includeDrives }: { tree: DriveTree; tokens: Tokens; includeDrives: boolean },
  signal: AbortSignal,
): Promise<Tokens | null> {
  const driveIds = includeDrives ? await api.driveIds(signal) : [];
  const isSame = driveIds.length + 1 === Object.keys(tokens).length && driveIds.every((id) => tokens[id] !== undefined);
  if (!isSame) return null;
  const next: Tokens = {};
  try {
    for (const [driveId, token] of Object.entries(tokens)) {
      const { changes, newToken } = await api.changes(driveId === '' ? null : driveId, token, signal);
      next[driveId] = newToken;
      for (const change of changes) if (!tree.apply(change)) return null;
    }
    return next;
  } catch (error) {
    if (!(error instanceof ServiceError) || !EXPIRED.has(error.status)) throw error;
    logger.info({ dataSource: sourceId, reason: describeError(error) }, 'Drive change log expired');
    return null;
  }
}

async function listAll(
  api: DriveApi,
  tree: DriveTree,
  driveIds: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  for (const driveId of driveIds) {
    const corpus = driveId === '' ? null : driveId;
    for await (const file of api.list('trashed = false', { corpus }, signal)) tree.add(file);
  }
  tree.markAllListed();
}

/** Lists the folders whose content is not known yet, and returns what is readable. */
async function listFolders(api: DriveApi, tree: DriveTree, signal: AbortSignal): Promise<DriveSelection> {
  const visited = new Set<string>();
  for (;;) {
    const selection = tree.select();
    // Targets of shortcuts may be unreadable.
    const unlistedIds = selection.unlistedIds.filter((id) => !visited.has(id));
    if (unlistedIds.length === 0) return selection;
    for (const id of unlistedIds) {
      visited.add(id);
      const folder = tree.get(id) ?? (await readTarget(api, id, signal));
      if (folder === null) continue;
      tree.add(folder);
      const query = `'${id}' in parents and trashed = false`;
      for await (const file of api.list(query, { corpus: folder.driveId ?? null }, signal)) tree.add(file);
      tree.markListed(id);
    }
  }
}

/** Returns the target of a shortcut; null when it is in the trash, or not readable. */
async function readTarget(api: DriveApi, id: string, signal: AbortSignal): Promise<DriveFile | null> {
  try {
    const target = await api.file(id, signal);
    return target.trashed === true ? null : target;
  } catch (error) {
    const isHidden = error instanceof IngestionError && (error.code === 'not_found' || error.code === 'access_denied');
    if (isHidden) return null;
    throw error;
  }
}

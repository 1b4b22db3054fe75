import { IngestionError } from '../../../jobs/job-error.ts';
import type { DriveApi, DriveFile } from './drive-api.ts';

const FOLDER = 'application/vnd.google-apps.folder';
const SHORTCUT = 'application/vnd.google-apps.shortcut';

/**
 * Lists files, each once: those in the folders with their subfolders, or all. Shortcuts lead to their targets. Throws
 * `not_found` when a named folder is not readable.
 */
export async function* listDriveFiles(
  api: DriveApi,
  folderIds: readonly string[] | undefined,
  signal: AbortSignal,
): AsyncGenerator<DriveFile> {
  const seen = new Set<string>();
  const folders = new Set<string>();
  if (folderIds === undefined) {
    for await (const file of api.list('trashed = false', signal)) yield* visit(file);
    return;
  }
  for (const id of folderIds) {
    const folder = await api.file(id, signal);
    const isFolder = folder.mimeType === FOLDER && folder.trashed !== true;
    if (!isFolder) throw new IngestionError('not_found', `'${id}' is not a folder, or it is in the trash.`);
    folders.add(id);
  }
  // A set visits what is added during the iteration.
  for (const id of folders) {
    for await (const file of api.list(`'${id}' in parents and trashed = false`, signal)) yield* visit(file);
  }

  async function* visit(listed: DriveFile): AsyncGenerator<DriveFile> {
    const file = listed.mimeType === SHORTCUT ? await resolveShortcut(api, listed, signal) : listed;
    if (file === null || seen.has(file.id)) return;
    seen.add(file.id);
    if (file.mimeType === FOLDER) folders.add(file.id);
    else yield file;
  }
}

/** Returns the target of a shortcut; null when it is in the trash, or not readable. */
async function resolveShortcut(api: DriveApi, shortcut: DriveFile, signal: AbortSignal): Promise<DriveFile | null> {
  const { targetId } = shortcut.shortcutDetails ?? {};
  if (targetId === undefined) return null;
  try {
    const target = await api.file(targetId, signal);
    return target.trashed === true || target.mimeType === SHORTCUT ? null : target;
  } catch (error) {
    const isHidden = error instanceof IngestionError && (error.code === 'not_found' || error.code === 'access_denied');
    if (isHidden) return null;
    throw error;
  }
}

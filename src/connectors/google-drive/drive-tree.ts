import type { DriveFile, TreeFile } from '../drive-store.ts';
import type { DriveChange } from './drive-api.ts';

/** MIME type of folders. */
export const FOLDER = 'application/vnd.google-apps.folder';
/** MIME type of shortcuts. */
export const SHORTCUT = 'application/vnd.google-apps.shortcut';

/** The part of a folder tree that a data source selects. */
export interface DriveSelection {
  files: DriveFile[];
  /** Targets of shortcuts to files. */
  targetIds: string[];
  /** Folders whose content is not known. */
  unlistedIds: string[];
}

/** The listing of a data source: everything readable, or the folders of its config with all below them. */
export class DriveTree {
  readonly #files: Map<string, TreeFile>;
  /** Null: everything readable. */
  readonly #rootIds: readonly string[] | null;

  constructor(rootIds: readonly string[] | null, files: Iterable<TreeFile> = []) {
    this.#rootIds = rootIds;
    this.#files = new Map(Array.from(files, (file) => [file.id, file]));
  }

  get files(): IterableIterator<TreeFile> {
    return this.#files.values();
  }

  get(id: string): TreeFile | undefined {
    return this.#files.get(id);
  }

  /** Adds a listed file. A folder keeps what is known of its content. */
  add(file: DriveFile): void {
    const { trashed: _trashed, ...fields } = file;
    this.#files.set(file.id, { ...fields, isListed: this.#files.get(file.id)?.isListed ?? false });
  }

  /** Marks the content of a folder as known. */
  markListed(id: string): void {
    const folder = this.#files.get(id);
    if (folder !== undefined) folder.isListed = true;
  }

  /** Marks the content of all folders as known, after a listing of everything. */
  markAllListed(): void {
    for (const file of this.#files.values()) file.isListed = true;
  }

  /**
   * Applies a change. Returns false when only a complete listing shows its effect: without root folders, files below a
   * folder that is gone may still be readable.
   */
  apply({ fileId, removed, file }: DriveChange): boolean {
    if (fileId === undefined) return true;
    if (removed !== true && file !== undefined && file.trashed !== true) {
      this.add(file);
      return true;
    }
    const isFolder = this.#files.get(fileId)?.mimeType === FOLDER;
    this.#files.delete(fileId);
    return !isFolder || this.#rootIds !== null;
  }

  /** Selects what is readable from the roots, through shortcuts to folders too. Drops everything else. */
  select(): DriveSelection {
    const children = Map.groupBy(this.#files.values(), ({ parents }) => parents?.[0] ?? '');
    const reached = new Set<string>(this.#rootIds ?? this.#files.keys());
    const selection: DriveSelection = { files: [], targetIds: [], unlistedIds: [] };
    const targets = new Set<string>();
    // A set visits what is added during the iteration.
    for (const id of reached) {
      const file = this.#files.get(id);
      if (file === undefined || file.mimeType === FOLDER) {
        if (file?.isListed !== true) selection.unlistedIds.push(id);
        for (const child of children.get(id) ?? []) reached.add(child.id);
      } else if (file.mimeType !== SHORTCUT) selection.files.push(file);
      else if (file.shortcutDetails?.targetMimeType === FOLDER) reached.add(file.shortcutDetails.targetId);
      else if (file.shortcutDetails !== undefined) targets.add(file.shortcutDetails.targetId);
    }
    for (const id of this.#files.keys()) if (!reached.has(id)) this.#files.delete(id);
    selection.targetIds = [...targets].filter((id) => !reached.has(id));
    return selection;
  }
}

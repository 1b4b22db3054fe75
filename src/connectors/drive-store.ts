/** https://developers.google.com/workspace/drive/api/reference/rest/v3/files */
export interface DriveFile {
  id: string;
  name: string;
  mimeType: string;
  /** Only of files with content in Drive. */
  md5Checksum?: string;
  modifiedTime: string;
  webViewLink?: string;
  trashed?: boolean;
  /** At most one. Absent for items that are shared without their folder. */
  parents?: string[];
  /** Id of the shared drive; absent in My Drive. */
  driveId?: string;
  shortcutDetails?: { targetId: string; targetMimeType?: string };
}

/** A file, folder or shortcut of a listing. */
export interface TreeFile extends DriveFile {
  /** Whether the content of a folder is in the listing. */
  isListed: boolean;
}

/** Position of a stored listing, without its files. */
export interface DriveListing {
  /** Hash of the config fields that determine what is listed. */
  scope: string;
  /** Start page token of each change log: by id of the shared drive, '' for the log of the account. */
  tokens: Record<string, string>;
  /** Time of the last complete listing. */
  listedAt: Date;
}

/** Stored listing of one data source, to which the changes since then are applied. */
export interface DriveStore {
  /** Selects the stored listing; null before the first one. */
  select(): Promise<(DriveListing & { files: TreeFile[] }) | null>;
  /** Replaces the stored listing: writes the files that differ from `before`, deletes those that are gone. */
  save(listing: DriveListing, files: { before: readonly TreeFile[]; files: readonly TreeFile[] }): Promise<void>;
}

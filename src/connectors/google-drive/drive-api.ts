import type { Static } from 'typebox';
import { IngestionError } from '../../extraction/ingestion-error.ts';
import type { ServiceAccount } from '../config-fields.ts';
import type { DriveFile } from '../drive-store.ts';
import { createGoogleClient } from '../google-api.ts';
import type { GuardedHttp, GuardedResponse } from '../http/guarded-http.ts';
import { type RestClient, readPages } from '../http/rest-client.ts';

const SCOPE = 'https://www.googleapis.com/auth/drive.readonly';
/** Maximum of the API. */
const FILES_PER_PAGE = 1000;
/** Maximum of the API. */
const DRIVES_PER_PAGE = 100;
const FILE_FIELDS =
  'id,name,mimeType,md5Checksum,modifiedTime,webViewLink,trashed,parents,driveId,shortcutDetails(targetId,targetMimeType)';

/** https://developers.google.com/workspace/drive/api/reference/rest/v3/changes. Changes of drives have no `fileId`. */
export interface DriveChange {
  fileId?: string;
  /** Deleted, or no longer readable. */
  removed?: boolean;
  /** The current state of a file that is not removed. */
  file?: DriveFile;
}

interface ChangePage {
  changes: DriveChange[];
  nextPageToken?: string;
  newStartPageToken?: string;
}

interface DrivePage {
  drives?: { id: string }[];
  nextPageToken?: string;
}

interface FilePage {
  files: DriveFile[];
  nextPageToken?: string;
  incompleteSearch?: boolean;
}

/** How to reach the API. */
export interface DriveApiOptions {
  base: string;
  credentials: Static<typeof ServiceAccount>;
  includeSharedDrives: boolean;
  retries?: number | undefined;
}

/** The Drive API v3. */
export class DriveApi {
  readonly #client: RestClient;
  readonly #root: string;
  readonly #files: string;
  readonly #includeSharedDrives: boolean;

  constructor(http: GuardedHttp, { base, credentials, includeSharedDrives, retries }: DriveApiOptions) {
    this.#client = createGoogleClient(http, { service: 'Google Drive', credentials, scope: SCOPE, retries });
    this.#root = `${base}/drive/v3`;
    this.#files = `${this.#root}/files`;
    this.#includeSharedDrives = includeSharedDrives;
  }

  /** Lists files that match a query, in a shared drive or all that the account reads. Throws if incomplete. */
  list(
    q: string,
    { corpus = null, pageSize = FILES_PER_PAGE }: { corpus?: string | null; pageSize?: number },
    signal: AbortSignal,
  ): AsyncGenerator<DriveFile> {
    const driveId = this.#includeSharedDrives ? corpus : null;
    return readPages(async (pageToken) => {
      const query = new URLSearchParams({
        q,
        pageSize: String(pageSize),
        fields: `nextPageToken,incompleteSearch,files(${FILE_FIELDS})`,
        supportsAllDrives: 'true',
        includeItemsFromAllDrives: String(this.#includeSharedDrives),
        ...(driveId === null ? { corpora: 'user' } : { corpora: 'drive', driveId }),
        ...(pageToken !== null && { pageToken }),
      });
      const page = await this.#client.json<FilePage>(`${this.#files}?${query}`, signal);
      if (page.incompleteSearch === true) {
        throw new IngestionError('too_large', 'Google Drive has not searched everywhere. Name folders in folder_ids.');
      }
      return { items: page.files, next: page.nextPageToken };
    });
  }

  file(id: string, signal: AbortSignal): Promise<DriveFile> {
    const query = new URLSearchParams({ fields: FILE_FIELDS, supportsAllDrives: 'true' });
    return this.#client.json(`${this.#files}/${encodeURIComponent(id)}?${query}`, signal);
  }

  /** Returns the ids of the account's shared drives. */
  async driveIds(signal: AbortSignal): Promise<string[]> {
    const drives = readPages(async (pageToken) => {
      const query = new URLSearchParams({
        pageSize: String(DRIVES_PER_PAGE),
        fields: 'nextPageToken,drives(id)',
        ...(pageToken !== null && { pageToken }),
      });
      const page = await this.#client.json<DrivePage>(`${this.#root}/drives?${query}`, signal);
      return { items: page.drives, next: page.nextPageToken };
    });
    return (await Array.fromAsync(drives)).map(({ id }) => id);
  }

  /** Returns the current end of a change log: that of a shared drive, or of the account. */
  async startPageToken(driveId: string | null, signal: AbortSignal): Promise<string> {
    const query = new URLSearchParams({ supportsAllDrives: 'true', ...(driveId !== null && { driveId }) });
    const page = await this.#client.json<{ startPageToken: string }>(
      `${this.#root}/changes/startPageToken?${query}`,
      signal,
    );
    return page.startPageToken;
  }

  /** Returns changes since a token, oldest first, and the next token. Throws 400 or 410 for an expired token. */
  async changes(
    driveId: string | null,
    token: string,
    signal: AbortSignal,
  ): Promise<{ changes: DriveChange[]; newToken: string }> {
    const changes: DriveChange[] = [];
    for (let pageToken = token; ; ) {
      const query = new URLSearchParams({
        pageToken,
        pageSize: String(FILES_PER_PAGE),
        fields: `nextPageToken,newStartPageToken,changes(fileId,removed,file(${FILE_FIELDS}))`,
        supportsAllDrives: 'true',
        includeItemsFromAllDrives: String(this.#includeSharedDrives),
        ...(driveId !== null && { driveId }),
      });
      const page: ChangePage = await this.#client.json<ChangePage>(`${this.#root}/changes?${query}`, signal);
      changes.push(...page.changes);
      if (page.nextPageToken === undefined) return { changes, newToken: page.newStartPageToken ?? pageToken };
      pageToken = page.nextPageToken;
    }
  }

  /** Downloads the content of a file. */
  download(id: string, signal: AbortSignal): Promise<GuardedResponse> {
    return this.#client.download(`${this.#files}/${encodeURIComponent(id)}?alt=media&supportsAllDrives=true`, signal);
  }

  /** Downloads a document of Google's editors in another format, at most 10 MB. */
  export(id: string, mimeType: string, signal: AbortSignal): Promise<GuardedResponse> {
    const query = new URLSearchParams({ mimeType });
    return this.#client.download(`${this.#files}/${encodeURIComponent(id)}/export?${query}`, signal);
  }
}

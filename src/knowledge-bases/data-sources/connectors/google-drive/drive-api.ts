import type { Static } from 'typebox';
import { IngestionError } from '../../../jobs/job-error.ts';
import type { ServiceAccount } from '../config-fields.ts';
import { createGoogleClient } from '../google-api.ts';
import type { GuardedHttp, GuardedResponse } from '../http/guarded-http.ts';
import type { RestClient } from '../http/rest-client.ts';

const SCOPE = 'https://www.googleapis.com/auth/drive.readonly';
/** Maximum of the API. */
const FILES_PER_PAGE = 1000;
const FILE_FIELDS = 'id,name,mimeType,md5Checksum,modifiedTime,webViewLink,trashed,shortcutDetails(targetId)';

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
  shortcutDetails?: { targetId: string };
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
  retries?: number;
}

/** The Drive API v3. */
export class DriveApi {
  readonly #client: RestClient;
  readonly #files: string;
  readonly #includeSharedDrives: boolean;

  constructor(http: GuardedHttp, { base, credentials, includeSharedDrives, retries }: DriveApiOptions) {
    const options = { service: 'Google Drive', credentials, scope: SCOPE };
    this.#client = createGoogleClient(http, { ...options, ...(retries !== undefined && { retries }) });
    this.#files = `${base}/drive/v3/files`;
    this.#includeSharedDrives = includeSharedDrives;
  }

  /** Lists the files that match a query. Throws when Drive has not searched everywhere. */
  async *list(q: string, signal: AbortSignal, pageSize = FILES_PER_PAGE): AsyncGenerator<DriveFile> {
    let pageToken: string | undefined;
    do {
      const query = new URLSearchParams({
        q,
        pageSize: String(pageSize),
        fields: `nextPageToken,incompleteSearch,files(${FILE_FIELDS})`,
        supportsAllDrives: 'true',
        includeItemsFromAllDrives: String(this.#includeSharedDrives),
        corpora: this.#includeSharedDrives ? 'allDrives' : 'user',
        ...(pageToken !== undefined && { pageToken }),
      });
      const page: FilePage = await this.#client.json<FilePage>(`${this.#files}?${query}`, signal);
      if (page.incompleteSearch === true) {
        throw new IngestionError('too_large', 'Google Drive has not searched all drives. Name folders in folder_ids.');
      }
      yield* page.files;
      pageToken = page.nextPageToken;
    } while (pageToken !== undefined);
  }

  file(id: string, signal: AbortSignal): Promise<DriveFile> {
    const query = new URLSearchParams({ fields: FILE_FIELDS, supportsAllDrives: 'true' });
    return this.#client.json(`${this.#files}/${encodeURIComponent(id)}?${query}`, signal);
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

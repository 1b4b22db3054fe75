import { Type } from 'typebox';
import { MUST } from '../../http/validation.ts';
import { BY_SERVICE_ACCOUNT, COMMON_FIELDS, MAX_LISTED, REMOTE_FIELDS, ServiceAccount } from '../config-fields.ts';
import type { Connector, SourceItem } from '../connector.ts';
import type { DriveFile } from '../drive-store.ts';
import { isSupportedFile } from '../file-formats.ts';
import type { GuardedHttp } from '../http/guarded-http.ts';
import { DriveApi } from './drive-api.ts';
import { FOLDER } from './drive-tree.ts';
import { listDriveFiles } from './list-drive-files.ts';

const BASE = 'https://www.googleapis.com';
/** Files of one request of the test of a data source. */
const SAMPLE_PAGE = 20;

/** Export formats of Google's editors: https://developers.google.com/workspace/drive/api/guides/ref-export-formats */
const EXPORTS: Readonly<Record<string, { mimeType: string; extension: string }>> = {
  'application/vnd.google-apps.document': { mimeType: 'text/markdown', extension: 'md' },
  // CSV has the first sheet only.
  'application/vnd.google-apps.spreadsheet': {
    mimeType: 'application/vnd.oasis.opendocument.spreadsheet',
    extension: 'ods',
  },
  'application/vnd.google-apps.presentation': { mimeType: 'text/plain', extension: 'txt' },
};

const FolderId = Type.String({
  pattern: '^[A-Za-z0-9_-]{1,128}$',
  [MUST]: "be the id of a folder, as at the end of its address: at most 128 letters, digits, '-' and '_'",
});

const Config = Type.Object({
  folder_ids: Type.Optional(
    Type.Array(FolderId, {
      minItems: 1,
      maxItems: MAX_LISTED,
      description: 'Folders with their subfolders. Default: all files that the account can read.',
    }),
  ),
  include_shared_drives: Type.Optional(Type.Boolean({ default: false })),
  credentials: ServiceAccount,
  ...COMMON_FIELDS,
  ...REMOTE_FIELDS,
});

type DriveConfig = Parameters<NonNullable<Connector<typeof Config>['check']>>[0];

/** Files of Google Drive. */
export const googleDrive = createGoogleDrive(BASE);

/** Creates the connector for an API server. */
export function createGoogleDrive(base: string): Connector<typeof Config> {
  const open = (http: GuardedHttp, config: DriveConfig, retries?: number) =>
    new DriveApi(http, {
      base,
      credentials: config.credentials,
      includeSharedDrives: config.include_shared_drives ?? false,
      retries,
    });
  return {
    type: 'google_drive',
    config: Config,
    ...BY_SERVICE_ACCOUNT,
    confirmsDeletions: true,
    async checkAccess(http, config, signal) {
      const api = open(http, config, 0);
      const [folder] = config.folder_ids ?? [];
      if (folder !== undefined) await api.file(folder, signal);
      else for await (const _file of api.list('trashed = false', { pageSize: 1 }, signal)) return;
    },
    async *list(deps, config, signal) {
      const { client_email: account } = config.credentials.service_account_json as { client_email: string };
      const includeSharedDrives = config.include_shared_drives ?? false;
      const scope = { folderIds: config.folder_ids, includeSharedDrives, account };
      for await (const file of listDriveFiles(deps, open(deps.http, config), scope, signal)) {
        const item = toItem(file);
        if (item !== null) yield item;
      }
    },
    async *sample({ http }, config, signal) {
      const api = open(http, config, 0);
      const { folder_ids: folderIds } = config;
      const inFolder = (id: string) => `'${id}' in parents and trashed = false`;
      const queries = folderIds?.map(inFolder) ?? ['trashed = false'];
      // Folders that are found are appended, and so read later.
      for (const query of queries) {
        for await (const file of api.list(query, { pageSize: SAMPLE_PAGE }, signal)) {
          if (file.mimeType === FOLDER && folderIds !== undefined) queries.push(inFolder(file.id));
          const item = toItem(file);
          if (item !== null) yield item;
        }
      }
    },
    async fetch({ http }, config, { key, name, details }, signal) {
      const api = open(http, config);
      const { mime_type: mimeType, ...facts } = details as { mime_type: string; last_modified: string };
      const target = EXPORTS[mimeType];
      const { body } =
        target === undefined ? await api.download(key, signal) : await api.export(key, target.mimeType, signal);
      return {
        bytes: body,
        filename: target === undefined ? name : `${name}.${target.extension}`,
        mediaType: target?.mimeType ?? mimeType,
        metadata: { ...facts, mime_type: mimeType },
      };
    },
  };
}

/** Returns null for formats that cannot be read. */
function toItem({ id, name, mimeType, md5Checksum, modifiedTime, webViewLink }: DriveFile): SourceItem | null {
  const isReadable =
    EXPORTS[mimeType] !== undefined || (!mimeType.startsWith('application/vnd.google-apps.') && isSupportedFile(name));
  if (!isReadable) return null;
  return {
    key: id,
    fingerprint: `${md5Checksum ?? modifiedTime} ${mimeType} ${name}`,
    name,
    uri: webViewLink ?? `https://drive.google.com/open?id=${id}`,
    details: { mime_type: mimeType, last_modified: modifiedTime },
  };
}

import { confluence } from './confluence/confluence.ts';
import type { Connector } from './connector.ts';
import { fileUpload } from './file-upload.ts';
import { gcs } from './gcs.ts';
import { googleDrive } from './google-drive/google-drive.ts';
import { notion } from './notion/notion.ts';
import { documentApi } from './posted-documents.ts';
import { s3 } from './s3.ts';
import type { StoredSourceType } from './source-types.ts';
import { webCrawl } from './web-crawl/web-crawl.ts';

/** Every type of data source. */
export const CONNECTORS: Readonly<Record<StoredSourceType, Connector>> = {
  file_upload: fileUpload,
  web_crawl: webCrawl,
  s3,
  gcs,
  confluence,
  notion,
  google_drive: googleDrive,
  api: documentApi,
};

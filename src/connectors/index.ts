import { confluence } from './confluence/confluence.ts';
import type { Connector } from './connector.ts';
import { fileUpload } from './file-upload.ts';
import { gcs } from './gcs.ts';
import { googleDrive } from './google-drive/google-drive.ts';
import { notion } from './notion/notion.ts';
import { s3 } from './s3.ts';
import type { DataSourceType } from './source-types.ts';
import { webCrawl } from './web-crawl/web-crawl.ts';

/** Every type of data source. */
export const CONNECTORS: Readonly<Record<DataSourceType, Connector>> = {
  file_upload: fileUpload,
  web_crawl: webCrawl,
  s3,
  gcs,
  confluence,
  notion,
  google_drive: googleDrive,
};

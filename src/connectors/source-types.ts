/** Types of data sources. */
export const DATA_SOURCE_TYPES = [
  'file_upload',
  'web_crawl',
  's3',
  'gcs',
  'confluence',
  'notion',
  'google_drive',
] as const;

/** One of `DATA_SOURCE_TYPES`. */
export type DataSourceType = (typeof DATA_SOURCE_TYPES)[number];

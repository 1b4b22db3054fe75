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

/** Types of stored data sources: `api` holds the documents that callers post, and is created with the first one. */
export const STORED_SOURCE_TYPES = [...DATA_SOURCE_TYPES, 'api'] as const;

/** One of `STORED_SOURCE_TYPES`. */
export type StoredSourceType = (typeof STORED_SOURCE_TYPES)[number];

/** One of `DATA_SOURCE_TYPES`. */
export type DataSourceType = (typeof DATA_SOURCE_TYPES)[number];

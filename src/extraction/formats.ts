/** Formats that documents can be read from. */
export type DocumentFormat =
  | 'pdf'
  | 'docx'
  | 'html'
  | 'markdown'
  | 'csv'
  | 'xlsx'
  | 'ods'
  | 'pptx'
  | 'odp'
  | 'image'
  | 'text'
  | 'jsonl'
  | 'json'
  | 'odt'
  | 'rtf'
  | 'epub'
  | 'eml'
  | 'msg'
  | 'zip';

const BY_MEDIA_TYPE: Readonly<Record<string, DocumentFormat>> = {
  'application/pdf': 'pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/markdown': 'markdown',
  'text/x-markdown': 'markdown',
  'text/csv': 'csv',
  'text/tab-separated-values': 'csv',
  'application/csv': 'csv',
  'application/vnd.oasis.opendocument.spreadsheet': 'ods',
  'application/x-vnd.oasis.opendocument.spreadsheet': 'ods',
  'application/vnd.oasis.opendocument.presentation': 'odp',
  'image/png': 'image',
  'image/jpeg': 'image',
  'image/tiff': 'image',
  'image/webp': 'image',
  'application/jsonl': 'jsonl',
  'application/x-ndjson': 'jsonl',
  'application/json': 'json',
  'application/vnd.oasis.opendocument.text': 'odt',
  'application/rtf': 'rtf',
  'text/rtf': 'rtf',
  'application/epub+zip': 'epub',
  'message/rfc822': 'eml',
  'application/vnd.ms-outlook': 'msg',
};

const BY_EXTENSION: Readonly<Record<string, DocumentFormat>> = {
  pdf: 'pdf',
  docx: 'docx',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  md: 'markdown',
  markdown: 'markdown',
  csv: 'csv',
  tsv: 'csv',
  xlsx: 'xlsx',
  ods: 'ods',
  pptx: 'pptx',
  odp: 'odp',
  png: 'image',
  jpg: 'image',
  jpeg: 'image',
  tif: 'image',
  tiff: 'image',
  webp: 'image',
  jsonl: 'jsonl',
  ndjson: 'jsonl',
  json: 'json',
  odt: 'odt',
  rtf: 'rtf',
  epub: 'epub',
  eml: 'eml',
  msg: 'msg',
  zip: 'zip',
  txt: 'text',
  text: 'text',
};

/** Media types that are also sent for files of other formats: the extension comes first. */
const BY_GENERIC_TYPE: Readonly<Record<string, DocumentFormat>> = {
  'text/plain': 'text',
  'application/zip': 'zip',
  'application/x-zip-compressed': 'zip',
};

/**
 * Returns the format of a document by its media type, else by its file extension, else by a generic media type. Null
 * for unsupported formats.
 */
export function documentFormat(name: string, mediaType: string | null): DocumentFormat | null {
  const [essence = ''] = (mediaType ?? '').toLowerCase().split(';');
  const byType = BY_MEDIA_TYPE[essence.trim()];
  if (byType !== undefined) return byType;
  const byExtension = BY_EXTENSION[/\.([^./\\]+)$/.exec(name.toLowerCase())?.[1] ?? ''];
  // Office documents are sent as `application/zip` too.
  return byExtension ?? BY_GENERIC_TYPE[essence.trim()] ?? null;
}

/** Whether the pages of a format are slides. */
export function hasSlides(mediaType: string | null): boolean {
  const format = documentFormat('', mediaType);
  return format === 'pptx' || format === 'odp';
}

/** Returns the `charset` parameter of a media type in lower case; null without one. */
export function parseCharset(mediaType: string | null): string | null {
  return /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(mediaType ?? '')?.[1]?.toLowerCase() ?? null;
}

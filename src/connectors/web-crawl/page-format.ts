/** File extensions of the media types that a crawl stores. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'application/pdf': 'pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'text/markdown': 'md',
  'text/x-markdown': 'md',
  'text/plain': 'txt',
};
/** Media types that servers send for files that they do not know. */
const UNKNOWN: ReadonlySet<string> = new Set(['', 'application/octet-stream', 'binary/octet-stream', 'text/plain']);
const BY_EXTENSION = /\.(html?|pdf|docx|xlsx|pptx|md|markdown|txt)$/;

/** Returns the extension of a page's format by its media type, else by its URL. Null: not stored. */
export function pageExtension(url: string, mediaType: string | null): string | null {
  const essence = (mediaType ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
  const byUrl = BY_EXTENSION.exec(new URL(url).pathname.toLowerCase())?.[1] ?? null;
  if (UNKNOWN.has(essence) && byUrl !== null) return byUrl;
  return EXTENSIONS[essence] ?? null;
}

/** Returns a file name for a page, from the last segment of its path. */
export function pageFilename(url: string, extension: string): string {
  const segment = new URL(url).pathname.split('/').findLast((part) => part !== '') ?? 'index';
  const stem = segment.replace(/\.[A-Za-z0-9]{1,8}$/, '').slice(0, 100);
  return `${stem === '' ? 'index' : stem}.${extension}`;
}

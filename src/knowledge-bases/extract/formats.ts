/** What documents can be read from. */
export type DocumentFormat = 'pdf' | 'docx' | 'html' | 'markdown' | 'csv' | 'text' | 'json-lines';

const BY_MEDIA_TYPE: Readonly<Record<string, DocumentFormat>> = {
  'application/pdf': 'pdf',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/markdown': 'markdown',
  'text/x-markdown': 'markdown',
  'text/csv': 'csv',
  'text/tab-separated-values': 'csv',
  'application/csv': 'csv',
  'application/jsonl': 'json-lines',
  'application/x-ndjson': 'json-lines',
};

const BY_ENDING: Readonly<Record<string, DocumentFormat>> = {
  pdf: 'pdf',
  docx: 'docx',
  html: 'html',
  htm: 'html',
  xhtml: 'html',
  md: 'markdown',
  markdown: 'markdown',
  csv: 'csv',
  tsv: 'csv',
  jsonl: 'json-lines',
  ndjson: 'json-lines',
  txt: 'text',
  text: 'text',
};

/**
 * The format of a document, by its media type where that says one, else by the ending of its name; plain text where the media type is
 * `text/plain` and the name says no more. Null for what cannot be read.
 */
export function documentFormat(name: string, mediaType: string | null): DocumentFormat | null {
  const [essence = ''] = (mediaType ?? '').toLowerCase().split(';');
  const byType = BY_MEDIA_TYPE[essence.trim()];
  if (byType !== undefined) return byType;
  const byEnding = BY_ENDING[/\.([^./\\]+)$/.exec(name.toLowerCase())?.[1] ?? ''];
  return byEnding ?? (essence.trim() === 'text/plain' ? 'text' : null);
}

/** The encoding that a media type names, such as that of an HTTP answer; null where it names none. */
export function charsetOf(mediaType: string | null): string | null {
  return /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(mediaType ?? '')?.[1]?.toLowerCase() ?? null;
}

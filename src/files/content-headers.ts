import type { ByteRange } from '../blobs/blob-store.ts';
import { rangeNotSatisfiable } from '../errors.ts';
import { formatOf } from './formats.ts';
import type { FileRow } from './store.ts';

/** The headers of a request that say which bytes are wanted (RFC 9110). */
export interface ContentRequest {
  range?: string | undefined;
  'if-range'?: string | undefined;
  'if-none-match'?: string | undefined;
}

/** How a request for content is answered: without bytes (304), with all of them (200) or with a range (206). */
export interface ContentAnswer {
  status: 200 | 206 | 304;
  headers: Record<string, string>;
  range: ByteRange | null;
}

/**
 * Which bytes of the file the request gets, and the headers of the answer. Several ranges at once, and what is no range
 * of bytes, get the whole. Throws 416 `range_not_satisfiable` for a range that begins behind the end.
 */
export function answerContent(row: FileRow, request: ContentRequest): ContentAnswer {
  const etag = `"${row.sha256}"`;
  const headers: Record<string, string> = {
    etag,
    'accept-ranges': 'bytes',
    // A file never changes, but who may read it can.
    'cache-control': 'private, no-cache',
  };
  if (isListed(request['if-none-match'], etag)) return { status: 304, headers, range: null };
  headers['content-type'] = formatOf(row.filename).mediaType;
  headers['content-disposition'] = attachment(row.filename);
  const isSame = request['if-range'] === undefined || request['if-range'] === etag;
  const range = isSame ? rangeOf(request.range, row.bytes) : null;
  if (range === null) {
    return { status: 200, headers: { ...headers, 'content-length': String(row.bytes) }, range };
  }
  headers['content-length'] = String(range.end - range.start + 1);
  headers['content-range'] = `bytes ${range.start}-${range.end}/${row.bytes}`;
  return { status: 206, headers, range };
}

/** `If-None-Match` compares weakly: what a proxy has marked as weak is the same file. */
function isListed(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((part) => ['*', etag, `W/${etag}`].includes(part.trim()));
}

function rangeOf(header: string | undefined, bytes: number): ByteRange | null {
  const [, first = '', last = ''] = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), bytes);
    if (length === 0) throw rangeNotSatisfiable(bytes);
    return { start: bytes - length, end: bytes - 1 };
  }
  const [start, end] = [Number(first), last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1)];
  // A range that ends before it begins is none.
  if (last !== '' && Number(last) < start) return null;
  if (start >= bytes) throw rangeNotSatisfiable(bytes);
  return { start, end };
}

/** RFC 6266: the name twice, for those who read ASCII only, and as UTF-8 (RFC 8187). */
function attachment(path: string): string {
  // Folders are for the owner of the disk to choose.
  const filename = path.slice(path.lastIndexOf('/') + 1);
  const ascii = filename.replaceAll(/[^\x20-\x7e]/g, '_').replaceAll(/["\\%]/g, '_');
  const exact = encodeURIComponent(filename).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${exact}`;
}

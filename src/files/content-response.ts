import type { ByteRange } from '../blobs/blob-store.ts';
import { rangeNotSatisfiable } from '../errors.ts';
import { requireFormat } from './formats.ts';
import type { FileRow } from './store.ts';

/** Conditional and range headers of a request (RFC 9110). */
export interface ContentRequest {
  range?: string | undefined;
  'if-range'?: string | undefined;
  'if-none-match'?: string | undefined;
}

/** Response head: 304 without a body, 200 with the whole file, or 206 with a range. */
export interface ContentResponse {
  status: 200 | 206 | 304;
  headers: Record<string, string>;
  range: ByteRange | null;
}

/**
 * Chooses status, headers and byte range of a content response. Multiple ranges and invalid `Range` headers get the
 * whole file. Throws 416 `range_not_satisfiable` for a range that starts after the end.
 */
export function prepareContentResponse(row: FileRow, request: ContentRequest): ContentResponse {
  const etag = `"${row.sha256}"`;
  const headers: Record<string, string> = {
    etag,
    'accept-ranges': 'bytes',
    // Files are immutable, but permissions can change.
    'cache-control': 'private, no-cache',
  };
  if (matchesEtag(request['if-none-match'], etag)) return { status: 304, headers, range: null };
  // Archives of knowledge bases are not among the formats of uploads.
  headers['content-type'] = row.purpose === 'archive' ? 'application/x-tar' : requireFormat(row.filename).mediaType;
  headers['content-disposition'] = attachment(row.filename);
  const isCurrent = request['if-range'] === undefined || request['if-range'] === etag;
  const range = isCurrent ? parseRange(request.range, row.bytes) : null;
  if (range === null) {
    return { status: 200, headers: { ...headers, 'content-length': String(row.bytes) }, range };
  }
  headers['content-length'] = String(range.end - range.start + 1);
  headers['content-range'] = `bytes ${range.start}-${range.end}/${row.bytes}`;
  return { status: 206, headers, range };
}

/** Compares `If-None-Match` weakly (RFC 9110): proxies may mark the tag as weak. */
export function matchesEtag(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  return header.split(',').some((part) => ['*', etag, `W/${etag}`].includes(part.trim()));
}

function parseRange(header: string | undefined, bytes: number): ByteRange | null {
  const [, first = '', last = ''] = /^bytes=\s*(\d*)\s*-\s*(\d*)\s*$/i.exec(header ?? '') ?? [];
  if (first === '' && last === '') return null;
  if (first === '') {
    const length = Math.min(Number(last), bytes);
    if (length === 0) throw rangeNotSatisfiable(bytes);
    return { start: bytes - length, end: bytes - 1 };
  }
  const [start, end] = [Number(first), last === '' ? bytes - 1 : Math.min(Number(last), bytes - 1)];
  // A range whose end precedes its start is invalid, and ignored.
  if (last !== '' && Number(last) < start) return null;
  if (start >= bytes) throw rangeNotSatisfiable(bytes);
  return { start, end };
}

/** Renders `Content-Disposition` (RFC 6266) with an ASCII name and a UTF-8 name (RFC 8187). */
export function attachment(path: string): string {
  // Without folders: clients must not write outside their download folder.
  const filename = path.slice(path.lastIndexOf('/') + 1);
  const ascii = filename.replaceAll(/[^\x20-\x7e]/g, '_').replaceAll(/["\\%]/g, '_');
  const exact = encodeURIComponent(filename).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${exact}`;
}

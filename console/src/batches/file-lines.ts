import { networkFailure, toFailure } from '../api/client.ts';

/** Bytes of one request. */
const RANGE_BYTES = 262_144;
/** The longest line that the API accepts in a batch, with room for the result around it. */
const MAX_LINE_BYTES = 33_554_432;
const NEWLINE = 10;

/** Lines of a file, and where the next ones start. */
export interface FileLines {
  lines: string[];
  /** Byte offset after the lines; null at the end of the file. */
  next: number | null;
}

/**
 * Reads the complete lines of a file from a byte offset, at most `limit`, in one or more range requests. Lines that are
 * longer than a range are read in larger ranges. Throws `ApiFailure`.
 */
export async function readFileLines(
  fileId: string,
  start: number,
  { limit, signal }: { limit: number; signal?: AbortSignal | undefined },
): Promise<FileLines> {
  for (let bytes = RANGE_BYTES; ; bytes *= 4) {
    const { content, total } = await readRange(fileId, start, bytes, signal);
    const isEnd = start + content.length >= total;
    const { lines, length } = splitLines(content, limit, isEnd);
    if (length === 0 && !isEnd && bytes < MAX_LINE_BYTES) continue;
    const next = start + length;
    return { lines, next: next >= total || length === 0 ? null : next };
  }
}

async function readRange(fileId: string, start: number, bytes: number, signal: AbortSignal | undefined) {
  const headers = { range: `bytes=${start}-${start + bytes - 1}` };
  const request = fetch(`/v1/files/${fileId}/content`, { headers, signal: signal ?? null });
  const response = await request.catch((error: unknown) => {
    throw signal?.aborted ? error : networkFailure();
  });
  // An empty file has no range.
  if (response.status === 416) return { content: new Uint8Array(), total: 0 };
  if (!response.ok) throw await toFailure(response);
  const content = new Uint8Array(await response.arrayBuffer());
  const total = Number(response.headers.get('content-range')?.split('/')[1] ?? content.length);
  return { content, total };
}

/** Splits off complete lines. `length`: their bytes, with the line ends. The last line of a file may have no end. */
function splitLines(content: Uint8Array, limit: number, isEnd: boolean): { lines: string[]; length: number } {
  const decoder = new TextDecoder();
  const lines: string[] = [];
  let length = 0;
  while (lines.length < limit && length < content.length) {
    const end = content.indexOf(NEWLINE, length);
    if (end === -1 && !isEnd) break;
    const line = decoder.decode(content.subarray(length, end === -1 ? content.length : end)).trim();
    length = end === -1 ? content.length : end + 1;
    if (line !== '') lines.push(line);
  }
  return { lines, length };
}

import { parseJson } from '../ui/json.ts';
import { type FileLines, readFileLines } from './file-lines.ts';

/** Results of one page. */
const PAGE_LINES = 25;
/** Input that is searched for the requests of one page: as many lines as a batch may have between two results. */
const SEARCHED_LINES = 50_000;
const SEARCH_STEP = 2_000;

/** A line of an output or error file with its request. */
export interface BatchResult {
  id: string;
  customId: string;
  /** Body of the request; null when it is not found. */
  request: unknown;
  /** Status and body of the response; null for a line that was not run. */
  response: { status: number; requestId: string | null; body: unknown } | null;
  error: { code: string; message: string } | null;
}

/** The files of a batch that a page of results comes from. */
export interface ResultFiles {
  results: string;
  input: string;
}

/**
 * Reads a page of results with their requests, as a page of a list. Both files are in the order of the input, so each
 * page continues where the page before ended: `after` holds the byte offsets.
 */
export async function readResults({ results, input }: ResultFiles, after: string | undefined, signal?: AbortSignal) {
  const [start = 0, inputStart = 0] = (after ?? '0:0').split(':').map(Number);
  const { lines, next } = await readFileLines(results, start, { limit: PAGE_LINES, signal });
  const data = lines.map(parseResult);
  const ids = new Set(data.map(({ customId }) => customId));
  const search = await findRequests(input, inputStart, ids, signal).catch(() => ({ requests: new Map(), next: 0 }));
  return {
    data: data.map((result) => ({ ...result, request: search.requests.get(result.customId)?.['body'] ?? null })),
    has_more: next !== null,
    last_id: next === null ? null : `${next}:${search.next}`,
  };
}

interface RequestSearch {
  requests: Map<string, Record<string, unknown>>;
  /** Byte offset of the range in which the last request was found. */
  next: number;
}

async function findRequests(
  fileId: string,
  start: number,
  ids: ReadonlySet<string>,
  signal: AbortSignal | undefined,
): Promise<RequestSearch> {
  const requests = new Map<string, Record<string, unknown>>();
  let at = start;
  for (let searched = 0; searched < SEARCHED_LINES; searched += SEARCH_STEP) {
    const page: FileLines = await readFileLines(fileId, at, { limit: SEARCH_STEP, signal });
    for (const line of page.lines) {
      const request = parseJson(line, 'object');
      const customId = request?.['custom_id'];
      if (request !== null && typeof customId === 'string' && ids.has(customId)) requests.set(customId, request);
    }
    if (page.next === null || requests.size === ids.size) break;
    at = page.next;
  }
  return { requests, next: at };
}

/** The lines of the input whose results are in the error file, as a new file. */
export async function collectFailedLines(errorFile: string, input: string, name: string): Promise<File> {
  const failed = new Set<string>();
  await forEachLine(errorFile, (line) => void failed.add(parseResult(line).customId));
  const lines: string[] = [];
  await forEachLine(input, (line) => {
    const customId = parseJson(line, 'object')?.['custom_id'];
    if (typeof customId === 'string' && failed.has(customId)) lines.push(`${line}\n`);
  });
  return new File(lines, name, { type: 'application/jsonl' });
}

async function forEachLine(fileId: string, visit: (line: string) => void): Promise<void> {
  for (let start: number | null = 0; start !== null; ) {
    const page: FileLines = await readFileLines(fileId, start, { limit: SEARCH_STEP });
    for (const line of page.lines) visit(line);
    start = page.next;
  }
}

function parseResult(line: string): BatchResult {
  const result = parseJson(line, 'object') ?? {};
  const response = result['response'] as { status_code: number; request_id: string | null; body: unknown } | null;
  return {
    id: String(result['id'] ?? ''),
    customId: String(result['custom_id'] ?? ''),
    request: null,
    response: response && { status: response.status_code, requestId: response.request_id, body: response.body },
    error: (result['error'] as BatchResult['error']) ?? null,
  };
}

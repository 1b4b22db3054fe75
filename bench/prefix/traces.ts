import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const ENDING = '.jsonl.gz';

/** A request of a trace: when it came, and its prompt as the numbers of its blocks, equal where the blocks are. */
export interface TracedRequest {
  atMs: number;
  blocks: readonly number[];
}

/** A trace of requests in order of arrival. */
export interface Trace {
  name: string;
  requests: TracedRequest[];
}

/** Reads the traces below `folder`/traces: JSON lines with `timestamp` (milliseconds) and `hash_ids`. */
export async function readTraces(folder: string): Promise<Trace[]> {
  const names = (await readdir(join(folder, 'traces'))).filter((name) => name.endsWith(ENDING)).sort();
  return Promise.all(
    names.map(async (name) => {
      const text = gunzipSync(await readFile(join(folder, 'traces', name))).toString('utf8');
      const requests = text
        .trim()
        .split('\n')
        .map((line) => toRequest(JSON.parse(line) as { timestamp: number; hash_ids: number[] }));
      return { name: basename(name, ENDING), requests };
    }),
  );
}

function toRequest(line: { timestamp: number; hash_ids: number[] }): TracedRequest {
  return { atMs: line.timestamp, blocks: line.hash_ids };
}

import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { DetailedJob } from '../../knowledge-bases/jobs/schema.ts';
import type { ApiClient } from '../api-client.ts';
import { StatusLine } from '../status-line.ts';
import { followJobs } from './follow-jobs.ts';

it('shows the pages that OCR reads, of all jobs', async () => {
  const job = { chunks_created: 0, documents_processed: 0, documents_failed: 0, documents_skipped: 0 };
  const reads: Record<string, Partial<DetailedJob>[]> = {
    job_1: [
      { status: 'processing', reading: [{ document: 'my "scan".pdf', page: 12, pages: 100 }] },
      { status: 'completed', documents_processed: 1, reading: [] },
    ],
    job_2: [
      { status: 'processing', reading: [{ document: 'b.pdf', page: 1, pages: 2 }] },
      { status: 'completed', documents_processed: 1, reading: [] },
    ],
  };
  const json = async (_: string, path: string) => {
    const id = path.match(/job_\d/)?.[0] ?? '';
    return { ...job, id, ...reads[id]?.shift() };
  };
  const api = { url: 'http://127.0.0.1:1', json } as unknown as ApiClient;
  const written: string[] = [];
  const line = new StatusLine({ isTTY: true, columns: 200, write: (text) => written.push(text) });
  const started = ['job_1', 'job_2'].map((jobId) => ({ jobId, expected: 1, files: 1 }));
  await followJobs(api, { baseId: 'kb_1', started: started as never, line }, new AbortController().signal);
  assert.match(
    written[0] ?? '',
    / 0\/2 ingesting {2}0 chunks {2}my "scan"\.pdf: page 12 of 100 {2}b\.pdf: page 1 of 2/,
  );
  assert.ok(written[1]?.includes(' 2/2 ingesting  0 chunks\x1b'), written[1]);
});

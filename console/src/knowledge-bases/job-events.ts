import { type QueryClient, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { api, body } from '../api/client.ts';
import { readAgain } from '../api/refresh.ts';
import type { Schema } from '../api/types.ts';

/** Reads a page of the jobs of a knowledge base, newest first. */
export const readJobs = (kbId: string, page: { after?: string | undefined; limit?: number }) => {
  const params = { path: { kb_id: kbId }, query: { ...page, order: 'desc' as const } };
  return api.GET('/v1/knowledge-bases/{kb_id}/ingestion-jobs', { params });
};

/** An ingestion job of the API. */
export type Job = Schema<'IngestionJob'>;

type JobEvent = { type: 'snapshot'; jobs: Job[] } | { type: 'job'; job: Job };

/** Interval of reads while the stream cannot be opened. */
const POLL_MS = 3_000;
/** Time after a failure of the stream until it is tried again. */
const RETRY_MS = 30_000;
/** Lists are read again at most this often while a job runs. */
const REFRESH_MS = 1_500;

/**
 * The live jobs of a knowledge base: by id, as far as the stream has sent them, and whether lists must be polled
 * instead.
 */
export interface LiveJobs {
  jobs: ReadonlyMap<string, Job>;
  isPolling: boolean;
}

/** Whether a job has ended. */
export const isFinished = ({ status }: Pick<Job, 'status'>): boolean => status === 'completed' || status === 'failed';

const mergeJobs = (jobs: LiveJobs['jobs'], changed: readonly Job[]): LiveJobs['jobs'] =>
  new Map([...jobs, ...changed.map((job) => [job.id, job] as const)]);

function refreshLists(queryClient: QueryClient, kbId: string, others: readonly string[] = []): void {
  for (const name of ['knowledge-base', 'documents', 'data-sources', 'jobs', ...others]) {
    void readAgain(queryClient, [name, kbId]);
  }
}

/**
 * Follows the jobs of a knowledge base by server-sent events, and refreshes its lists when something changes. Where no
 * stream can be opened, as behind some proxies, it refreshes them periodically.
 */
export function useJobEvents(kbId: string): LiveJobs {
  const queryClient = useQueryClient();
  const [live, setLive] = useState<LiveJobs>({ jobs: new Map(), isPolling: false });
  useEffect(() => {
    let retry: ReturnType<typeof setTimeout> | undefined;
    let refresh: ReturnType<typeof setTimeout> | undefined;
    let source: EventSource;
    let isFirst = true;
    const refreshAll = () => {
      refresh = undefined;
      refreshLists(queryClient, kbId, ['job', 'document']);
    };
    const open = () => {
      source = new EventSource(`/v1/knowledge-bases/${encodeURIComponent(kbId)}/ingestion-jobs/events`);
      source.onmessage = ({ data }: MessageEvent<string>) => {
        if (data === '[DONE]') return;
        const event = JSON.parse(data) as JobEvent;
        if (event.type !== 'snapshot' && event.type !== 'job') return;
        const changed = event.type === 'snapshot' ? event.jobs : [event.job];
        setLive(({ jobs }) => ({ jobs: mergeJobs(jobs, changed), isPolling: false }));
        // The lists have just been read when the first snapshot comes.
        if (!isFirst) refresh ??= setTimeout(refreshAll, REFRESH_MS);
        isFirst = false;
      };
      source.onerror = () => {
        // The browser reconnects by itself after an interruption, but not after an error response.
        if (source.readyState !== EventSource.CLOSED) return;
        setLive(({ jobs }) => ({ jobs, isPolling: true }));
        retry = setTimeout(open, RETRY_MS);
      };
    };
    open();
    return () => {
      source.close();
      clearTimeout(retry);
      clearTimeout(refresh);
    };
  }, [kbId, queryClient]);
  const { isPolling } = live;
  useEffect(() => {
    if (!isPolling) return;
    const timer = setInterval(() => {
      body(readJobs(kbId, { limit: 50 })).then(
        ({ data }) => setLive(({ jobs, ...rest }) => ({ ...rest, jobs: mergeJobs(jobs, data) })),
        // The next read may succeed.
        () => {},
      );
      refreshLists(queryClient, kbId);
    }, POLL_MS);
    return () => clearInterval(timer);
  }, [isPolling, kbId, queryClient]);
  return live;
}

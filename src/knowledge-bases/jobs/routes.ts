import { listSchema } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { disconnectSignal, sendEvents } from '../../http/event-stream.ts';
import { findKnowledgeBase } from '../find-knowledge-base.ts';
import { KnowledgeBaseParams } from '../schema.ts';
import { findJob } from './find-job.ts';
import { JobFeed } from './job-feed.ts';
import { listJobs } from './list-jobs.ts';
import { DetailedJob, IngestionJob, JobEvent, JobListQuery, JobParams, JobQuery } from './schema.ts';

const tags = ['Ingestion jobs'];
const config = { scope: 'knowledge' } as const;

/** Routes under `/v1/knowledge-bases/{kb_id}/ingestion-jobs`. */
export function ingestionRoutes(app: App, deps: Pick<Deps, 'db'>): void {
  app.get(
    '/v1/knowledge-bases/:kb_id/ingestion-jobs',
    {
      schema: {
        summary: 'List the ingestion jobs of a knowledge base',
        description: 'A job reads a data source after it was added or changed, and at every sync.',
        tags,
        params: KnowledgeBaseParams,
        querystring: JobListQuery,
        response: { 200: listSchema(IngestionJob) },
      },
      config,
    },
    async (request) => listJobs(deps, toCall(request).caller.organizationId, request.params.kb_id, request.query),
  );
  app.get(
    '/v1/knowledge-bases/:kb_id/ingestion-jobs/:job_id',
    {
      schema: {
        summary: 'One ingestion job, with its documents',
        tags,
        params: JobParams,
        querystring: JobQuery,
        response: { 200: DetailedJob },
      },
      config,
    },
    async (request) => findJob(deps, toCall(request).caller.organizationId, request.params, request.query),
  );
  eventRoute(app, deps);
}

function eventRoute(app: App, { db }: Pick<Deps, 'db'>): void {
  const feed = new JobFeed(db);
  app.addHook('preClose', async () => feed.close());
  app.get(
    '/v1/knowledge-bases/:kb_id/ingestion-jobs/events',
    {
      schema: {
        summary: 'Watch the ingestion jobs of a knowledge base',
        description:
          'A stream of server-sent events. The first one is a snapshot of the unfinished and newest jobs, so a client that connects again misses nothing; then each changed job follows. Comments keep the connection open. The stream ends with `[DONE]` after five minutes, when the knowledge base is deleted, and when the service stops. At most 16 streams of one caller.',
        tags,
        params: KnowledgeBaseParams,
        response: {
          200: { description: 'Events.', content: { 'text/event-stream': { schema: JobEvent } } },
        },
      },
      config,
    },
    async (request, reply) => {
      const { organizationId, keyId } = toCall(request).caller;
      const { id: baseId } = await findKnowledgeBase({ db }, organizationId, request.params.kb_id);
      const events = feed.watch({ organizationId, callerId: keyId, baseId }, disconnectSignal(reply));
      return sendEvents(reply, events);
    },
  );
}

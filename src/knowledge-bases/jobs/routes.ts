import { listOf } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { KnowledgeBaseParams } from '../schema.ts';
import { findJob } from './find-job.ts';
import { listJobs } from './list-jobs.ts';
import { DetailedJob, IngestionJob, JobListQuery, JobParams, JobQuery } from './schema.ts';

const tags = ['Ingestion jobs'];
const config = { scope: 'knowledge' } as const;

/** Routes under `/v1/knowledge-bases/{kb_id}/ingestion-jobs`. */
export function ingestionRoutes(app: App, deps: Pick<Deps, 'db'>): void {
  app.get(
    '/v1/knowledge-bases/:kb_id/ingestion-jobs',
    {
      schema: {
        summary: 'List the ingestion jobs of a knowledge base',
        description: 'Each is one reading of a data source: when it was added or changed, and at every sync.',
        tags,
        params: KnowledgeBaseParams,
        querystring: JobListQuery,
        response: { 200: listOf(IngestionJob) },
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
}

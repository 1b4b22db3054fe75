import type { Deps } from '../../deps.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { DocumentParams } from '../documents/schema.ts';
import { IngestionJob, JobParams } from '../jobs/schema.ts';
import { cancelJob } from './cancel-job.ts';
import { reprocessDocument } from './reprocess-document.ts';

const config = { scope: 'knowledge' } as const;

/** Routes that cancel an ingestion job and process a document again. */
export function ingestionControlRoutes(app: App, deps: Pick<Deps, 'db' | 'jobs' | 'now'>): void {
  app.post(
    '/v1/knowledge-bases/:kb_id/ingestion-jobs/:job_id/cancel',
    {
      schema: {
        summary: 'Cancel an ingestion job',
        description:
          'Ends a queued or running job as `failed` with the error `cancelled`. Documents that it has finished stay; the next sync does the rest. A job that has ended is returned unchanged.',
        tags: ['Ingestion jobs'],
        params: JobParams,
        response: { 200: IngestionJob },
      },
      config,
    },
    async (request) => cancelJob(deps, toCall(request).caller.organizationId, request.params),
  );
  app.post(
    '/v1/knowledge-bases/:kb_id/documents/:document_id/reprocess',
    {
      schema: {
        summary: 'Process a document again',
        description:
          'Queues a sync of its data source that reads the document again, chunks it and embeds it, also when it has not changed.',
        tags: ['Documents'],
        params: DocumentParams,
        response: { 202: IngestionJob },
      },
      config,
    },
    async (request, reply) => {
      const job = await reprocessDocument(deps, toCall(request).caller, request.params);
      return reply.code(202).send(job);
    },
  );
}

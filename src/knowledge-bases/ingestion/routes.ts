import type { Deps } from '../../deps.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { DocumentParams, PostDocument, PostedDocument } from '../documents/schema.ts';
import { IngestionJob, JobParams } from '../jobs/schema.ts';
import { KnowledgeBaseParams } from '../schema.ts';
import { cancelJob } from './cancel-job.ts';
import { postDocument } from './post-document.ts';
import { reprocessDocument } from './reprocess-document.ts';

const config = { scope: 'knowledge' } as const;

/** Routes that cancel an ingestion job, and that post a document or process it again. */
export function ingestionControlRoutes(app: App, deps: Pick<Deps, 'db' | 'jobs' | 'now'>): void {
  app.post(
    '/v1/knowledge-bases/:kb_id/ingestion-jobs/:job_id/cancel',
    {
      schema: {
        summary: 'Cancel an ingestion job',
        description:
          'Ends a queued or running job as `failed` with the error `cancelled`. Completed documents are kept; the next sync processes the others. Completed jobs are returned unchanged.',
        tags: ['Ingestion jobs'],
        params: JobParams,
        response: { 200: IngestionJob },
      },
      config,
    },
    async (request) => cancelJob(deps, toCall(request).caller.organizationId, request.params),
  );
  app.post(
    '/v1/knowledge-bases/:kb_id/documents',
    {
      schema: {
        summary: 'Post a document',
        description:
          'Adds a text or an uploaded file under a key, or replaces the document of the key: searches return the version before until the new one is ingested. 202 with the job that ingests it; 200 without one when the document has not changed. `status` is that of the version that searches return. A file of several documents, such as JSONL, becomes one document for each; `GET .../documents?key=` lists them.',
        tags: ['Documents'],
        params: KnowledgeBaseParams,
        body: PostDocument,
        response: { 200: PostedDocument, 202: PostedDocument },
      },
      config: { ...config, idempotent: true },
    },
    async (request, reply) => {
      const posted = await postDocument(deps, toCall(request), request.params.kb_id, request.body);
      return reply.code(posted.ingestion_job_id === null ? 200 : 202).send(posted);
    },
  );
  app.post(
    '/v1/knowledge-bases/:kb_id/documents/:document_id/reprocess',
    {
      schema: {
        summary: 'Process a document again',
        description:
          'Enqueues a sync of the data source that extracts, chunks and embeds the document again, even if it has not changed.',
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

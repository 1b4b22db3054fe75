import type { FastifyReply } from 'fastify';
import type { Deps } from '../../deps.ts';
import { attachment } from '../../files/content-response.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { disconnectSignal } from '../../http/event-stream.ts';
import { respondOnce } from '../../http/idempotency/streamed.ts';
import { KnowledgeBaseParams } from '../schema.ts';
import { type Export, exportKnowledgeBase } from './export-knowledge-base.ts';
import { ARCHIVE_MEDIA_TYPE } from './format.ts';
import { identifyImport, importKnowledgeBase } from './import-knowledge-base.ts';
import { ImportedKnowledgeBase, ImportForm } from './schema.ts';

type ArchiveDeps = Pick<Deps, 'db' | 'blobs' | 'chunks' | 'jobs' | 'models' | 'logger' | 'now'>;

const tags = ['Knowledge bases'];
const config = { scope: 'knowledge' } as const;

/** Routes that export and import knowledge bases. */
export function archiveRoutes(app: App, deps: ArchiveDeps): void {
  // Own scope: the content type parser below must not affect other routes.
  app.register(async (scope) => importRoute(scope as unknown as App, deps));
  app.post(
    '/v1/knowledge-bases/:kb_id/export',
    {
      schema: {
        summary: 'Export a knowledge base',
        description:
          'Returns a tar archive with the configuration, files, documents, chunks and vectors, without credentials. Also requires the scope `files`. An archive without its last part is incomplete.',
        tags,
        params: KnowledgeBaseParams,
        response: {
          200: {
            description: 'The archive.',
            content: { [ARCHIVE_MEDIA_TYPE]: { schema: { type: 'string', format: 'binary' } } },
          },
        },
      },
      config,
    },
    async (request, reply) => {
      const { caller } = toCall(request);
      return sendArchive(reply, await exportKnowledgeBase(deps, caller, request.params.kb_id, disconnectSignal(reply)));
    },
  );
}

function sendArchive(reply: FastifyReply, { name, content }: Export) {
  return reply
    .type(ARCHIVE_MEDIA_TYPE)
    .header('content-disposition', attachment(`${name.replaceAll(/[/\\]/g, '-')}.tar`))
    .header('cache-control', 'private, no-store')
    .send(content);
}

function importRoute(app: App, deps: ArchiveDeps): void {
  // The handler reads the raw body; `readForm` checks its content type.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.post(
    '/v1/knowledge-bases/import',
    {
      schema: {
        summary: 'Import a knowledge base',
        description:
          'A multipart form with an archive of an export, from this service or another one. The archive is checked while it arrives; then one ingestion job for each data source imports it, with new ids. Vectors are kept when the embedding model is the same; otherwise the chunks are embedded again. Needs the scope `files` too.',
        tags,
        consumes: ['multipart/form-data'],
        body: ImportForm,
        response: { 200: ImportedKnowledgeBase },
      },
      config: { ...config, idempotent: 'streamed', rateClass: 'uploads' },
      validatorCompiler: () => () => true,
    },
    async (request, reply) => {
      const call = toCall(request);
      const signal = disconnectSignal(reply);
      return respondOnce(deps, request, reply, {
        perform: () => importKnowledgeBase(deps, call, request.raw, signal),
        identify: () => identifyImport(request.raw, signal),
      });
    },
  );
}

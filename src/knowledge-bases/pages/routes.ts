import type { FastifyReply } from 'fastify';
import { Extractor } from '../../extraction/extractor.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { disconnectSignal } from '../../http/event-stream.ts';
import type { FetchDeps } from './fetch-source-file.ts';
import { PageParams, PageQuery } from './schema.ts';
import { type ShownPage, showPage } from './show-page.ts';

/** Time limit of a page. Most take a tenth of a second; a map with a million lines takes ten. */
const PAGE_SECONDS = 20;

/** OpenAPI description of the image. */
const PNG_RESPONSE = {
  description: 'The page as PNG',
  headers: {
    etag: { type: 'string', description: 'Of the page with its marks.' },
    'x-passage-marked': {
      type: 'string',
      enum: ['true', 'false'],
      description: 'Whether the text was found on the page and is marked. Absent when none was named.',
    },
  },
  content: { 'image/png': { schema: { type: 'string', format: 'binary' } as const } },
};

/** Route `GET .../documents/{document_id}/pages/{page}`. */
export function pageRoutes(app: App, deps: FetchDeps): void {
  let extractor: Extractor | null = null;
  app.addHook('onClose', () => extractor?.close());
  app.get(
    '/v1/knowledge-bases/:kb_id/documents/:document_id/pages/:page',
    {
      schema: {
        summary: 'A page of a PDF or of an image as PNG',
        description: 'Can mark a passage, such as a citation. Supports `If-None-Match`.',
        tags: ['Documents'],
        params: PageParams,
        querystring: PageQuery,
        response: { 200: PNG_RESPONSE },
      },
      config: { scope: 'knowledge' },
    },
    async (request, reply) => {
      const { params, query, headers } = request;
      extractor ??= startExtractor(deps);
      const { etag, image } = await showPage(
        { ...deps, extractor },
        {
          organizationId: toCall(request).caller.organizationId,
          params,
          query,
          ifNoneMatch: headers['if-none-match'],
          signal: disconnectSignal(reply),
        },
      );
      const isMarking = query.chunk_id !== undefined || query.start !== undefined;
      return sendPage(reply, { etag, image, isMarking });
    },
  );
}

/** An own process: the readers of ingestion may be busy for minutes. Starts with the first page, ends when idle. */
function startExtractor({ config, logger }: FetchDeps): Extractor {
  const { readerHeapMb: heapMb, readerBufferMb: bufferMb } = config.memory.budget;
  return new Extractor({
    readers: 1,
    limits: { seconds: PAGE_SECONDS, heapMb, bufferMb },
    onReaderCrash: (reason) => logger.warn({ reason }, 'rendering process ended by a document'),
  });
}

function sendPage(reply: FastifyReply, { etag, image, isMarking }: ShownPage & { isMarking: boolean }) {
  // Documents may be deleted, and permissions change.
  reply.headers({ etag, 'cache-control': 'private, no-cache' });
  if (image === null) return reply.code(304).send();
  if (isMarking) reply.header('x-passage-marked', String(image.isMarked));
  return reply.type('image/png').send(Buffer.from(image.png));
}

import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { listSchema } from '../db/page.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { disconnectSignal } from '../http/event-stream.ts';
import { respondOnce } from '../http/idempotency/streamed.ts';
import { nextSlice } from '../lib/time-slices.ts';
import { prepareContentResponse } from './content-response.ts';
import { deleteFile } from './delete-file.ts';
import { findFile, viewFile } from './find-file.ts';
import { listFiles } from './list-files.ts';
import { readContent } from './read-content.ts';
import { identifyUpload, receiveUpload, uploadIdentity } from './receive-upload.ts';
import { DeletedFile, File, FileListQuery, FileParams, UploadForm } from './schema.ts';
import type { FileRow } from './store.ts';
import type { UploadDeps } from './upload-file.ts';

type FileDeps = UploadDeps;

const tags = ['Files'];
const config = { scope: 'files' } as const;

/** Routes under `/v1/files`. */
export function fileRoutes(app: App, deps: FileDeps): void {
  // Own scope: the content type parser below must not affect other routes.
  app.register(async (scope) => uploadRoute(scope as unknown as App, deps));
  app.get(
    '/v1/files',
    {
      schema: { summary: 'List the files', tags, querystring: FileListQuery, response: { 200: listSchema(File) } },
      config,
    },
    async (request) => listFiles(deps, toCall(request).caller.organizationId, request.query),
  );
  app.get(
    '/v1/files/:file_id',
    { schema: { summary: 'Retrieve a file', tags, params: FileParams, response: { 200: File } }, config },
    async (request) => viewFile(await findRequestedFile(deps, request)),
  );
  app.delete(
    '/v1/files/:file_id',
    {
      schema: {
        summary: 'Delete a file',
        description: '409 `file_in_use` while an unfinished batch or ingestion job uses the file.',
        tags,
        params: FileParams,
        response: { 200: DeletedFile },
      },
      config,
    },
    async (request) => deleteFile(deps, toCall(request).caller.organizationId, request.params.file_id),
  );
  contentRoute(app, deps);
}

function uploadRoute(app: App, deps: FileDeps): void {
  // The handler reads the raw body; `readForm` checks its content type.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.post(
    '/v1/files',
    {
      schema: {
        summary: 'Upload a file',
        description:
          'A multipart form with the fields `file` and `purpose`. The content must match the format given by the file name.',
        tags,
        consumes: ['multipart/form-data'],
        body: UploadForm,
        response: { 200: File },
      },
      config: { ...config, idempotent: 'streamed', rateClass: 'uploads' },
      validatorCompiler: () => () => true,
    },
    async (request, reply) => {
      const { caller } = toCall(request);
      const signal = disconnectSignal(reply);
      return respondOnce(deps, request, reply, {
        perform: async () => {
          const row = await receiveUpload(deps, caller, request.raw, signal);
          // The content is checked after the response.
          return { response: { ...viewFile(row), status: 'uploaded' }, identity: uploadIdentity(row) };
        },
        identify: () => identifyUpload(request.raw, signal),
      });
    },
  );
}

function contentRoute(app: App, deps: FileDeps): void {
  app.get(
    '/v1/files/:file_id/content',
    {
      schema: {
        summary: 'Download a file',
        description: 'Supports `Range` (one range), `If-Range` and `If-None-Match`.',
        tags,
        params: FileParams,
        response: {
          200: binaryResponse('The whole file', CONTENT_HEADERS),
          206: binaryResponse('A range of the file', {
            ...CONTENT_HEADERS,
            'content-range': { type: 'string', description: 'Range and size of the file.' },
          }),
        },
      },
      config,
    },
    async (request, reply) => sendFile(deps, await findRequestedFile(deps, request), request, reply),
  );
}

/** Sends the content of a file, or the requested range. */
export async function sendFile(
  deps: Pick<FileDeps, 'blobs'>,
  row: FileRow,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const head = prepareContentResponse(row, request.headers);
  const hasBody = head.status !== 304 && request.method !== 'HEAD';
  const content = hasBody ? await readContent(deps, row, head.range, disconnectSignal(reply)) : Readable.from([]);
  const sliced = Readable.from(inSlices(content, row.organizationId), { objectMode: false });
  return reply.code(head.status).headers(head.headers).send(sliced);
}

/** Passes a download through, a chunk in each time slice of the organization, so that many of one delay no other. */
async function* inSlices(content: Readable, organizationId: string): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    await nextSlice(organizationId);
    yield chunk;
  }
}

const CONTENT_HEADERS = {
  etag: { type: 'string', description: 'SHA-256 of the content.' },
  'content-disposition': { type: 'string', description: 'The file name.' },
  'accept-ranges': { type: 'string', enum: ['bytes'] },
};

/** OpenAPI description of a binary response. */
function binaryResponse(description: string, headers: object) {
  const schema = { type: 'string', format: 'binary' } as const;
  return { description, headers, content: { 'application/octet-stream': { schema } } };
}

function findRequestedFile(deps: FileDeps, request: FastifyRequest<{ Params: { file_id: string } }>) {
  return findFile(deps, toCall(request).caller.organizationId, request.params.file_id);
}

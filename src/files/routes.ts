import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { listOf } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { disconnectSignal } from '../http/event-stream.ts';
import { answerOnce } from '../http/idempotency/streamed.ts';
import { answerContent } from './content-headers.ts';
import { deleteFile } from './delete-file.ts';
import { findFile, viewFile } from './find-file.ts';
import { listFiles } from './list-files.ts';
import { readContent } from './read-content.ts';
import { identifyUpload, identityOf, receiveUpload } from './receive-upload.ts';
import { DeletedFile, File, FileListQuery, FileParams, UploadForm } from './schema.ts';

type FileDeps = Pick<Deps, 'db' | 'blobs' | 'logger' | 'now'>;

const tags = ['Files'];
const config = { scope: 'files' } as const;

/** `POST`, `GET` and `DELETE` of `/v1/files`, and the content of a file. */
export function fileRoutes(app: App, deps: FileDeps): void {
  // Only here: every other route takes JSON and says so.
  app.register(async (scope) => uploadRoute(scope as unknown as App, deps));
  app.get(
    '/v1/files',
    {
      schema: { summary: 'List the files', tags, querystring: FileListQuery, response: { 200: listOf(File) } },
      config,
    },
    async (request) => listFiles(deps, toCall(request).caller.organizationId, request.query),
  );
  app.get(
    '/v1/files/:file_id',
    { schema: { summary: 'One file', tags, params: FileParams, response: { 200: File } }, config },
    async (request) => viewFile(await fileOf(deps, request)),
  );
  app.delete(
    '/v1/files/:file_id',
    {
      schema: {
        summary: 'Delete a file',
        description: '409 `file_in_use` while a batch or an ingestion job that has not ended needs it.',
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
  // Every body reaches the handler as it comes: which type it must have is for the reader of forms to say.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (_request, _payload, done) => done(null));
  app.post(
    '/v1/files',
    {
      schema: {
        summary: 'Upload a file',
        description:
          'A form with the fields `file` and `purpose`. It is stored as it arrives, and its bytes are checked against the format that its name says.',
        tags,
        consumes: ['multipart/form-data'],
        body: UploadForm,
        response: { 200: File },
      },
      config: { ...config, idempotent: 'streamed' },
      validatorCompiler: () => () => true,
    },
    async (request, reply) => {
      const { organizationId } = toCall(request).caller;
      const signal = disconnectSignal(reply);
      return answerOnce(deps, request, reply, {
        perform: async () => {
          const row = await receiveUpload(deps, organizationId, request.raw, signal);
          return { answer: viewFile(row), identity: identityOf(row) };
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
        summary: 'The content of a file',
        description: 'Heeds `Range` (one range), `If-Range` and `If-None-Match`.',
        tags,
        params: FileParams,
        response: { 200: bytesOf('The whole content'), 206: bytesOf('A range of it') },
      },
      config,
    },
    async (request, reply) => {
      const row = await fileOf(deps, request);
      const answer = answerContent(row, request.headers);
      const hasBytes = answer.status !== 304 && request.method !== 'HEAD';
      const content = hasBytes
        ? await readContent(deps, row, answer.range, disconnectSignal(reply))
        : Readable.from([]);
      return sendContent(reply, answer, content);
    },
  );
}

/** An answer that is no JSON, for the description. */
function bytesOf(description: string) {
  const schema = { type: 'string', format: 'binary' } as const;
  return { description, content: { 'application/octet-stream': { schema } } };
}

function fileOf(deps: FileDeps, request: FastifyRequest<{ Params: { file_id: string } }>) {
  return findFile(deps, toCall(request).caller.organizationId, request.params.file_id);
}

function sendContent(reply: FastifyReply, { status, headers }: ReturnType<typeof answerContent>, content: Readable) {
  return reply.code(status).headers(headers).send(content);
}

import { listSchema } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { KnowledgeBaseParams } from '../schema.ts';
import { deleteDocument, deleteKey } from './delete-document.ts';
import { findDocument } from './find-document.ts';
import { listChunks } from './list-chunks.ts';
import { listDocuments } from './list-documents.ts';
import {
  Chunk,
  ChunkListQuery,
  DeletedDocument,
  DeletedKey,
  Document,
  DocumentKeyQuery,
  DocumentListQuery,
  DocumentParams,
} from './schema.ts';
import { viewDocument } from './view-document.ts';

const tags = ['Documents'];
const config = { scope: 'knowledge' } as const;
const params = DocumentParams;

type DocumentDeps = Pick<Deps, 'db' | 'chunks' | 'logger' | 'now'>;

/** Routes under `/v1/knowledge-bases/{kb_id}/documents`. */
export function documentRoutes(app: App, deps: DocumentDeps): void {
  app.get(
    '/v1/knowledge-bases/:kb_id/documents',
    {
      schema: {
        summary: 'List the documents of a knowledge base',
        description: 'A document is a file, a line of a JSONL file, a page, or an object of a data source.',
        tags,
        params: KnowledgeBaseParams,
        querystring: DocumentListQuery,
        response: { 200: listSchema(Document) },
      },
      config,
    },
    async (request) => listDocuments(deps, toCall(request).caller.organizationId, request.params.kb_id, request.query),
  );
  app.get(
    '/v1/knowledge-bases/:kb_id/documents/:document_id',
    { schema: { summary: 'One document', tags, params, response: { 200: Document } }, config },
    async (request) => viewDocument(await findDocument(deps, toCall(request).caller.organizationId, request.params)),
  );
  app.get(
    '/v1/knowledge-bases/:kb_id/documents/:document_id/chunks',
    {
      schema: {
        summary: 'List the chunks of a document',
        description:
          'Returns chunks in text order. `start` and `end` select chunks that overlap this range of the text.',
        tags,
        params,
        querystring: ChunkListQuery,
        response: { 200: listSchema(Chunk) },
      },
      config,
    },
    async (request) => listChunks(deps, toCall(request).caller.organizationId, request.params, request.query),
  );
  deleteRoutes(app, deps);
}

function deleteRoutes(app: App, deps: DocumentDeps): void {
  app.delete(
    '/v1/knowledge-bases/:kb_id/documents/:document_id',
    {
      schema: {
        summary: 'Delete a document',
        description: 'A later sync ingests the document again, with a new id, if its data source still contains it.',
        tags,
        params,
        response: { 200: DeletedDocument },
      },
      config,
    },
    async (request) => deleteDocument(deps, toCall(request).caller.organizationId, request.params),
  );
  app.delete(
    '/v1/knowledge-bases/:kb_id/documents',
    {
      schema: {
        summary: 'Delete a document by its key',
        description: 'Deletes a posted document. If a posted file contained several documents, deletes all of them.',
        tags,
        params: KnowledgeBaseParams,
        querystring: DocumentKeyQuery,
        response: { 200: DeletedKey },
      },
      config,
    },
    async (request) =>
      deleteKey(deps, toCall(request).caller.organizationId, { ...request.params, key: request.query.key }),
  );
}

import { listSchema } from '../db/page.ts';
import type { Deps } from '../deps.ts';
import type { App } from '../http/app.ts';
import { toCall } from '../http/auth.ts';
import { createKnowledgeBase } from './create-knowledge-base.ts';
import { deleteKnowledgeBase } from './delete-knowledge-base.ts';
import { findKnowledgeBase } from './find-knowledge-base.ts';
import { listKnowledgeBases } from './list-knowledge-bases.ts';
import {
  CreateKnowledgeBase,
  DeletedKnowledgeBase,
  KnowledgeBase,
  KnowledgeBaseListQuery,
  KnowledgeBaseParams,
  ListedKnowledgeBase,
  UpdateKnowledgeBase,
} from './schema.ts';
import { updateKnowledgeBase } from './update-knowledge-base.ts';
import { viewKnowledgeBase } from './view-knowledge-base.ts';

const tags = ['Knowledge bases'];
const config = { scope: 'knowledge' } as const;
const params = KnowledgeBaseParams;
const response = { 200: KnowledgeBase };

/** Routes of `/v1/knowledge-bases`. */
export function knowledgeBaseRoutes(app: App, deps: Pick<Deps, 'db' | 'chunks' | 'models' | 'logger' | 'now'>): void {
  app.post(
    '/v1/knowledge-bases',
    {
      schema: { summary: 'Create a knowledge base', tags, body: CreateKnowledgeBase, response },
      config: { ...config, idempotent: true },
    },
    async (request) => createKnowledgeBase(deps, toCall(request), request.body),
  );
  app.get(
    '/v1/knowledge-bases',
    {
      schema: {
        summary: 'List the knowledge bases',
        tags,
        querystring: KnowledgeBaseListQuery,
        response: { 200: listSchema(ListedKnowledgeBase) },
      },
      config,
    },
    async (request) => listKnowledgeBases(deps, toCall(request).caller.organizationId, request.query),
  );
  app.get(
    '/v1/knowledge-bases/:kb_id',
    { schema: { summary: 'One knowledge base', tags, params, response }, config },
    async (request) =>
      viewKnowledgeBase(await findKnowledgeBase(deps, toCall(request).caller.organizationId, request.params.kb_id)),
  );
  app.patch(
    '/v1/knowledge-bases/:kb_id',
    {
      schema: {
        summary: 'Change a knowledge base',
        description: 'The embedding model and the chunking strategy cannot be changed.',
        tags,
        params,
        body: UpdateKnowledgeBase,
        response,
      },
      config,
    },
    async (request) => updateKnowledgeBase(deps, toCall(request), request.params.kb_id, { body: request.body }),
  );
  app.delete(
    '/v1/knowledge-bases/:kb_id',
    {
      schema: {
        summary: 'Delete a knowledge base',
        description: 'Also deletes its data sources, documents and chunks, even during ingestion.',
        tags,
        params,
        response: { 200: DeletedKnowledgeBase },
      },
      config,
    },
    async (request) => deleteKnowledgeBase(deps, toCall(request), request.params.kb_id),
  );
}

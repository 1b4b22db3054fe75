import type { Deps } from '../../deps.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { disconnectSignal } from '../../http/event-stream.ts';
import type { RetrievalDeps } from '../../knowledge-bases/retrieval/retrieve.ts';
import { findStore } from './ids.ts';
import { cancelFileBatch, createFileBatch, listBatchFiles, showFileBatch } from './manage-batches.ts';
import { addFile, listStoreFiles, readFileContent, removeFile, showFile, updateFile } from './manage-files.ts';
import { createStore, deleteStore, listStores, showStore, updateStore } from './manage-stores.ts';
import {
  AddFile,
  ContentQuery,
  CreateFileBatch,
  CreateVectorStore,
  DeletedVectorStore,
  DeletedVectorStoreFile,
  FileBatch,
  FileBatchParams,
  FileContent,
  SearchVectorStore,
  StoreFileList,
  StoreFileListQuery,
  StoreFileParams,
  StoreList,
  StoreListQuery,
  StoreParams,
  UpdateFile,
  UpdateVectorStore,
  VectorStore,
  VectorStoreFile,
  VectorStoreSearch,
} from './schema.ts';
import { searchStore } from './search-store.ts';

/** Dependencies of `/v1/vector_stores`. */
export type VectorStoreDeps = RetrievalDeps & Pick<Deps, 'jobs'>;

const tags = ['Vector stores'];
const config = { scope: 'knowledge' } as const;
const idempotent = { ...config, idempotent: true } as const;
const PATH = '/v1/vector_stores';
const STORE = `${PATH}/:vector_store_id`;
const BATCH = `${STORE}/file_batches/:file_batch_id`;
const FILE = `${STORE}/files/:file_id`;

/** Routes of OpenAI's vector stores: knowledge bases under another name. */
export function vectorStoreRoutes(app: App, deps: VectorStoreDeps): void {
  storeRoutes(app, deps);
  storeFileRoutes(app, deps);
  storedFileRoutes(app, deps);
  fileBatchRoutes(app, deps);
  app.post(
    `${STORE}/search`,
    {
      schema: {
        summary: 'Search a vector store',
        tags,
        params: StoreParams,
        body: SearchVectorStore,
        response: { 200: VectorStoreSearch },
      },
      config: { ...config, usesTokens: true },
    },
    async (request, reply) => {
      const search = { storeId: request.params.vector_store_id, body: request.body, signal: disconnectSignal(reply) };
      return searchStore(deps, toCall(request), search);
    },
  );
}

function storeRoutes(app: App, deps: VectorStoreDeps): void {
  const response = { 200: VectorStore };
  app.post(
    PATH,
    { schema: { summary: 'Create a vector store', tags, body: CreateVectorStore, response }, config: idempotent },
    async (request) => createStore(deps, toCall(request), request.body),
  );
  app.get(
    PATH,
    {
      schema: { summary: 'List the vector stores', tags, querystring: StoreListQuery, response: { 200: StoreList } },
      config,
    },
    async (request) => listStores(deps, toCall(request), request.query),
  );
  app.get(
    STORE,
    { schema: { summary: 'One vector store', tags, params: StoreParams, response }, config },
    async (request) => showStore(deps, toCall(request), request.params.vector_store_id),
  );
  app.post(
    STORE,
    {
      schema: { summary: 'Change a vector store', tags, params: StoreParams, body: UpdateVectorStore, response },
      config,
    },
    async (request) => updateStore(deps, toCall(request), request.params.vector_store_id, request.body),
  );
  app.delete(
    STORE,
    {
      schema: {
        summary: 'Delete a vector store',
        description: 'Deletes the knowledge base with all of its documents. Uploaded files stay.',
        tags,
        params: StoreParams,
        response: { 200: DeletedVectorStore },
      },
      config,
    },
    async (request) => deleteStore(deps, toCall(request), request.params.vector_store_id),
  );
}

/** Adding and listing of files. */
function storeFileRoutes(app: App, deps: VectorStoreDeps): void {
  const response = { 200: VectorStoreFile };
  app.post(
    `${STORE}/files`,
    { schema: { summary: 'Add a file', tags, params: StoreParams, body: AddFile, response }, config: idempotent },
    async (request) => addFile(deps, toCall(request), request.params.vector_store_id, request.body),
  );
  app.get(
    `${STORE}/files`,
    {
      schema: {
        summary: 'List the files of a vector store',
        tags,
        params: StoreParams,
        querystring: StoreFileListQuery,
        response: { 200: StoreFileList },
      },
      config,
    },
    async (request) => {
      const base = await findStore(deps, toCall(request).caller.organizationId, request.params.vector_store_id);
      return listStoreFiles(deps, base, request.query);
    },
  );
}

/** One file of a store. */
function storedFileRoutes(app: App, deps: VectorStoreDeps): void {
  const response = { 200: VectorStoreFile };
  app.get(
    FILE,
    { schema: { summary: 'One file of a vector store', tags, params: StoreFileParams, response }, config },
    async (request) => showFile(deps, toCall(request), request.params),
  );
  app.post(
    FILE,
    {
      schema: { summary: 'Change the attributes of a file', tags, params: StoreFileParams, body: UpdateFile, response },
      config,
    },
    async (request) => updateFile(deps, toCall(request), request.params, request.body),
  );
  app.delete(
    FILE,
    {
      schema: {
        summary: 'Remove a file from a vector store',
        description: 'The uploaded file stays.',
        tags,
        params: StoreFileParams,
        response: { 200: DeletedVectorStoreFile },
      },
      config,
    },
    async (request) => removeFile(deps, toCall(request), request.params),
  );
  app.get(
    `${FILE}/content`,
    {
      schema: {
        summary: 'Extracted text of a file',
        tags,
        params: StoreFileParams,
        querystring: ContentQuery,
        response: { 200: FileContent },
      },
      config,
    },
    async (request) => readFileContent(deps, toCall(request), request.params, request.query.page ?? null),
  );
}

/** Batches of files. */
function fileBatchRoutes(app: App, deps: VectorStoreDeps): void {
  const response = { 200: FileBatch };
  const params = FileBatchParams;
  app.post(
    `${STORE}/file_batches`,
    {
      schema: { summary: 'Add a batch of files', tags, params: StoreParams, body: CreateFileBatch, response },
      config: idempotent,
    },
    async (request) => createFileBatch(deps, toCall(request), request.params.vector_store_id, request.body),
  );
  app.get(BATCH, { schema: { summary: 'One file batch', tags, params, response }, config }, async (request) =>
    showFileBatch(deps, toCall(request), request.params),
  );
  app.post(
    `${BATCH}/cancel`,
    {
      schema: {
        summary: 'Cancel a file batch',
        description: 'Files that are not ingested yet become `cancelled`; the others stay in the store.',
        tags,
        params,
        response,
      },
      config,
    },
    async (request) => cancelFileBatch(deps, toCall(request), request.params),
  );
  app.get(
    `${BATCH}/files`,
    {
      schema: {
        summary: 'List the files of a batch',
        tags,
        params,
        querystring: StoreFileListQuery,
        response: { 200: StoreFileList },
      },
      config,
    },
    async (request) => listBatchFiles(deps, toCall(request), request.params, request.query),
  );
}

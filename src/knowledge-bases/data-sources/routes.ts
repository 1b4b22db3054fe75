import { ListQuery, listSchema } from '../../db/page.ts';
import type { Deps } from '../../deps.ts';
import type { App } from '../../http/app.ts';
import { toCall } from '../../http/auth.ts';
import { compileValidator } from '../../http/validation.ts';
import { IngestionJob } from '../jobs/schema.ts';
import { KnowledgeBaseParams } from '../schema.ts';
import { createDataSource } from './create-data-source.ts';
import { deleteDataSource } from './delete-data-source.ts';
import { findDataSource } from './find-data-source.ts';
import { listDataSources } from './list-data-sources.ts';
import { probeDataSource } from './probe-data-source.ts';
import {
  CreateDataSource,
  DataSource,
  DataSourceParams,
  DataSourceProbe,
  DeletedDataSource,
  DescribedDataSource,
  ListedDataSource,
  ProbeDataSource,
  UpdateDataSource,
} from './schema.ts';
import { syncDataSource } from './sync-data-source.ts';
import { updateDataSource } from './update-data-source.ts';
import { viewDataSource } from './view-data-source.ts';

type DataSourceDeps = Pick<Deps, 'db' | 'blobs' | 'chunks' | 'jobs' | 'secrets' | 'config' | 'logger' | 'now'>;

const tags = ['Data sources'];
const config = { scope: 'knowledge' } as const;
const params = DataSourceParams;
const response = { 200: DataSource };

/** Routes under `/v1/knowledge-bases/{kb_id}/data-sources`. */
export function dataSourceRoutes(app: App, deps: DataSourceDeps): void {
  listRoutes(app, deps);
  testRoute(app, deps);
  changeRoutes(app, deps);
}

function listRoutes(app: App, deps: DataSourceDeps): void {
  app.post(
    '/v1/knowledge-bases/:kb_id/data-sources',
    {
      schema: {
        summary: 'Add a data source',
        description: 'Queues an ingestion job. Secrets of the config are encrypted and never shown.',
        tags,
        params: KnowledgeBaseParams,
        body: DescribedDataSource,
        response,
      },
      config: { ...config, idempotent: true },
      validatorCompiler: (route) =>
        compileValidator({ ...route, schema: route.httpPart === 'body' ? CreateDataSource : route.schema }),
    },
    async (request) => createDataSource(deps, toCall(request), request.params.kb_id, request.body),
  );
  app.get(
    '/v1/knowledge-bases/:kb_id/data-sources',
    {
      schema: {
        summary: 'List the data sources of a knowledge base',
        tags,
        params: KnowledgeBaseParams,
        querystring: ListQuery,
        response: { 200: listSchema(ListedDataSource) },
      },
      config,
    },
    async (request) =>
      listDataSources(deps, toCall(request).caller.organizationId, request.params.kb_id, request.query),
  );
  app.get(
    '/v1/knowledge-bases/:kb_id/data-sources/:ds_id',
    { schema: { summary: 'One data source', tags, params, response }, config },
    async (request) => {
      const row = await findDataSource(deps, toCall(request).caller.organizationId, request.params);
      return viewDataSource(deps.db.sql, row);
    },
  );
}

function testRoute(app: App, deps: DataSourceDeps): void {
  app.post(
    '/v1/knowledge-bases/:kb_id/data-sources/test',
    {
      schema: {
        summary: 'Test a data source',
        description:
          'Checks the config and its credentials, and lists the first items, within 15 seconds. Nothing is stored. An invalid config, rejected credentials and services that cannot be reached are 400, as when the data source is created.',
        tags,
        params: KnowledgeBaseParams,
        body: ProbeDataSource,
        response: { 200: DataSourceProbe },
      },
      config,
    },
    async (request) => probeDataSource(deps, toCall(request).caller, request.params.kb_id, request.body),
  );
}

function changeRoutes(app: App, deps: DataSourceDeps): void {
  app.patch(
    '/v1/knowledge-bases/:kb_id/data-sources/:ds_id',
    {
      schema: {
        summary: 'Change a data source',
        description: 'A changed config starts a sync; a changed name does not.',
        tags,
        params,
        body: UpdateDataSource,
        response,
      },
      config,
    },
    async (request) => updateDataSource(deps, toCall(request), request.params, request.body),
  );
  app.post(
    '/v1/knowledge-bases/:kb_id/data-sources/:ds_id/sync',
    {
      schema: {
        summary: 'Sync a data source',
        description:
          'Ingests new and changed items and removes deleted ones. Returns the existing job when one is queued or running.',
        tags,
        params,
        response: { 202: IngestionJob },
      },
      config: { ...config, idempotent: true },
    },
    async (request, reply) => {
      const job = await syncDataSource(deps, toCall(request).caller, request.params);
      return reply.code(202).send(job);
    },
  );
  app.delete(
    '/v1/knowledge-bases/:kb_id/data-sources/:ds_id',
    {
      schema: {
        summary: 'Delete a data source',
        description: 'Also deletes its documents and jobs, even while a job is running.',
        tags,
        params,
        response: { 200: DeletedDataSource },
      },
      config,
    },
    async (request) => deleteDataSource(deps, toCall(request), request.params),
  );
}

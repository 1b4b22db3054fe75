import { type Static, Type } from 'typebox';
import { CONNECTORS } from '../../connectors/index.ts';
import { DATA_SOURCE_TYPES, STORED_SOURCE_TYPES } from '../../connectors/source-types.ts';
import { deletedSchema } from '../../db/page.ts';
import { titleSchemas } from '../../lib/title-schemas.ts';
import { JobErrorOrNull } from '../jobs/schema.ts';
import { KnowledgeBaseParams } from '../schema.ts';

/** Maximum characters of a name. */
const MAX_NAME_CHARACTERS = 256;

const Name = Type.String({ minLength: 1, maxLength: MAX_NAME_CHARACTERS });
const Config = Type.Record(Type.String(), Type.Unknown());

/** Body of `POST .../data-sources`. `parseConfig` validates the config by type. */
export const CreateDataSource = Type.Object({
  type: Type.Enum([...DATA_SOURCE_TYPES]),
  name: Type.Optional(Name),
  config: Config,
});

export type CreateDataSource = Static<typeof CreateDataSource>;

/** Body of `POST .../data-sources/test`. */
export const ProbeDataSource = Type.Object(
  {
    type: Type.Enum([...DATA_SOURCE_TYPES]),
    config: { ...Config, description: 'As for a new data source.' },
    data_source_id: Type.Optional(
      Type.String({
        description:
          'A stored data source: its config is merged with `config` as by PATCH, so redacted secrets can be sent.',
      }),
    ),
  },
  { examples: [{ type: 'web_crawl', config: { urls: ['https://example.com'] } }] },
);

export type ProbeDataSource = Static<typeof ProbeDataSource>;

/** Result of the test of a data source. */
export const DataSourceProbe = Type.Object(
  {
    object: Type.Literal('data_source_test'),
    items: Type.Array(Type.Object({ name: Type.String(), uri: Type.Union([Type.String(), Type.Null()]) }), {
      description: 'The first items that a sync would list, at most 5.',
    }),
    has_more: Type.Boolean({ description: 'Whether there are, or may be, more items.' }),
  },
  {
    examples: [{ object: 'data_source_test', items: [{ name: 'Home', uri: 'https://example.com/' }], has_more: false }],
  },
);

export type DataSourceProbe = Static<typeof DataSourceProbe>;

/** `CreateDataSource` for OpenAPI, with the config of each type. Requests use `CreateDataSource`, for better errors. */
export const DescribedDataSource = Type.Unsafe<CreateDataSource>({
  anyOf: DATA_SOURCE_TYPES.map((type) =>
    Type.Object({
      type: Type.Literal(type),
      name: Type.Optional({ ...Name, description: 'Default: the type.' }),
      config: CONNECTORS[type].config,
    }),
  ),
  examples: [{ type: 'file_upload', name: 'Policies', config: { file_ids: ['file-01kaj3v0b8s4x2m6n9p1q5r7t3'] } }],
});

/** Body of `PATCH .../data-sources/{ds_id}`. */
export const UpdateDataSource = Type.Object({
  name: Type.Optional(Name),
  config: Type.Optional({
    ...Config,
    description:
      'Merged with the stored config: null removes a field, objects merge by key, lists are replaced. A redacted secret (`***`) keeps its value. A change starts a sync; when only `metadata` changes, no document is fetched or embedded again.',
  }),
  type: Type.Optional(Type.Unknown({ description: 'Rejected: the type cannot be changed.' })),
});

export type UpdateDataSource = Static<typeof UpdateDataSource>;

const Listed = {
  id: Type.String(),
  object: Type.Literal('data_source'),
  knowledge_base_id: Type.String(),
  type: Type.Enum([...STORED_SOURCE_TYPES], {
    description: '`api` holds the documents that were posted to the knowledge base, and is created with the first.',
  }),
  name: Type.String(),
  status: Type.Enum(['processing', 'active', 'error'], {
    description: '`processing` while a job is queued or running; `error` when the last job failed.',
  }),
  document_count: Type.Integer({ description: 'Ingested documents.' }),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  last_synced_at: Type.Union([Type.Integer(), Type.Null()], {
    description: 'End of the last successful job, in Unix seconds.',
  }),
  next_sync_at: Type.Union([Type.Integer(), Type.Null()], {
    description:
      'Time of the next scheduled sync in Unix seconds, counted from the start of the last sync. A time in the past means that the sync is due. Null without a schedule.',
  }),
  error: {
    ...JobErrorOrNull,
    description: 'Why the last sync failed, such as expired credentials; null when it completed.',
  },
};

/** A data source in a list. */
export const ListedDataSource = Type.Object(Listed);

export type ListedDataSource = Static<typeof ListedDataSource>;

/** The data source object. */
export const DataSource = Type.Object(
  {
    ...Listed,
    config: Type.Record(Type.String(), Type.Unknown(), { description: 'With defaults; secrets are shown as `***`.' }),
    updated_at: Type.Integer({ description: 'Unix seconds.' }),
  },
  {
    examples: [
      {
        id: 'ds_01kaj3v0b8s4x2m6n9p1q5r7t3',
        object: 'data_source',
        knowledge_base_id: 'kb_01kaj3v0b8s4x2m6n9p1q5r7t3',
        type: 's3',
        name: 'Policies',
        config: {
          bucket: 'acme-policies',
          region: 'us-east-1',
          credentials: { access_key_id: '***', secret_access_key: '***' },
        },
        status: 'processing',
        document_count: 0,
        created_at: 1763683200,
        updated_at: 1763683200,
        last_synced_at: null,
        next_sync_at: null,
        error: null,
      },
    ],
  },
);

export type DataSource = Static<typeof DataSource>;

/** Path parameters of one data source. */
export const DataSourceParams = Type.Object({ ...KnowledgeBaseParams.properties, ds_id: Type.String() });

/** Response of `DELETE .../data-sources/{ds_id}`. */
export const DeletedDataSource = deletedSchema('data_source');

export type DeletedDataSource = Static<typeof DeletedDataSource>;

titleSchemas({
  CreateDataSource,
  DescribedDataSource,
  ProbeDataSource,
  DataSourceProbe,
  UpdateDataSource,
  ListedDataSource,
  DataSource,
  DeletedDataSource,
});

import { type Static, Type } from 'typebox';
import { listSchema } from '../../db/page.ts';
import { NULL_IS_ABSENT } from '../../http/null-fields.ts';
import { titleSchemas } from '../../lib/title-schemas.ts';
import { AttributeFilter } from '../../responses/parse-attribute-filter.ts';

/** Pairs of one `metadata` or `attributes` object. */
const MAX_PAIRS = 16;
const MAX_KEY_CHARACTERS = 64;
const MAX_VALUE_CHARACTERS = 512;
/** Files that a store is created with. */
const MAX_INITIAL_FILES = 500;
/** Queries of one search; each is embedded and searched by itself. */
const MAX_QUERIES = 16;
/** As in a knowledge base. */
const MAX_QUERY_CHARACTERS = 100_000;

const PAIRS = { maxProperties: MAX_PAIRS, propertyNames: { maxLength: MAX_KEY_CHARACTERS } } as const;
const Value = Type.String({ maxLength: MAX_VALUE_CHARACTERS });

const Metadata = Type.Record(Type.String(), Value, {
  ...PAIRS,
  description: `At most ${MAX_PAIRS} pairs: keys of at most ${MAX_KEY_CHARACTERS} characters, texts of at most ${MAX_VALUE_CHARACTERS}.`,
});

/** Attributes of a file, which `filters` compare. */
const Attributes = Type.Record(Type.String(), Type.Union([Value, Type.Number(), Type.Boolean()]), {
  ...PAIRS,
  description: `Metadata of the file: at most ${MAX_PAIRS} texts of at most ${MAX_VALUE_CHARACTERS} characters, numbers and booleans.`,
});

/** Attributes as responses have them: documents of other sources may have longer ones. */
const ShownAttributes = Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]));

export type ShownAttributes = Static<typeof ShownAttributes>;

const ExpiresAfter = Type.Object({
  anchor: Type.Literal('last_active_at'),
  days: Type.Integer({ minimum: 1, maximum: 365 }),
});

const StaticSize = Type.Object({
  max_chunk_size_tokens: Type.Integer({ minimum: 100, maximum: 4096 }),
  chunk_overlap_tokens: Type.Integer({ minimum: 0, description: 'At most half of `max_chunk_size_tokens`.' }),
});

/** Field `chunking_strategy` of requests. */
const FileChunking = Type.Object(
  { type: Type.Enum(['auto', 'static']), static: Type.Optional(StaticSize) },
  { description: '`auto`, unless said: as the knowledge base. `static`: `static` has the size.' },
);

export type FileChunking = Static<typeof FileChunking>;

/** Field `chunking_strategy` of responses. */
const ShownStrategy = Type.Object(
  { type: Type.Enum(['static', 'other']), static: Type.Optional(StaticSize) },
  { description: '`other`: the knowledge base cuts by topic.' },
);

const StoreName = Type.String({ minLength: 1, maxLength: 256 });

/** Body of `POST /v1/vector_stores`. */
export const CreateVectorStore = Type.Object(
  {
    name: Type.Optional({ ...StoreName, default: 'Vector store' }),
    description: Type.Optional(Type.String({ maxLength: 4096 })),
    file_ids: Type.Optional(Type.Array(Type.String(), { maxItems: MAX_INITIAL_FILES })),
    chunking_strategy: Type.Optional(FileChunking),
    expires_after: Type.Optional(ExpiresAfter),
    metadata: Type.Optional(Metadata),
  },
  { [NULL_IS_ABSENT]: true, examples: [{ name: 'Handbook', expires_after: { anchor: 'last_active_at', days: 30 } }] },
);

export type CreateVectorStore = Static<typeof CreateVectorStore>;

/** Body of `POST /v1/vector_stores/{vector_store_id}`. */
export const UpdateVectorStore = Type.Object(
  {
    name: Type.Optional(Type.Union([StoreName, Type.Null()], { description: 'Null: unchanged.' })),
    expires_after: Type.Optional(
      Type.Union([ExpiresAfter, Type.Null()], { description: 'Null: the store does not expire.' }),
    ),
    metadata: Type.Optional(Type.Union([Metadata, Type.Null()], { description: 'Replaces all metadata. Null: none.' })),
  },
  { examples: [{ name: 'Handbook 2026' }] },
);

export type UpdateVectorStore = Static<typeof UpdateVectorStore>;

/** Field `file_counts` of stores and file batches. */
export const FileCounts = Type.Object({
  in_progress: Type.Integer(),
  completed: Type.Integer(),
  failed: Type.Integer(),
  cancelled: Type.Integer(),
  total: Type.Integer(),
});

export type FileCounts = Static<typeof FileCounts>;

const STORE_ID = 'vs_01kaj3v0b8s4x2m6n9p1q5r7t3';
const FILE_ID = 'file-01kaj3v0b8s4x2m6n9p1q5r7t3';
const UnixSeconds = Type.Integer({ description: 'Unix seconds.' });
const Seconds = Type.Union([Type.Integer(), Type.Null()]);

/** The vector store object. */
export const VectorStore = Type.Object(
  {
    id: Type.String({ description: 'The id of the knowledge base with the prefix `vs_` instead of `kb_`.' }),
    object: Type.Literal('vector_store'),
    created_at: UnixSeconds,
    name: Type.String(),
    description: Type.String(),
    usage_bytes: Type.Integer({ description: 'Bytes of its files.' }),
    file_counts: FileCounts,
    status: Type.Enum(['expired', 'in_progress', 'completed'], {
      description: '`expired`: searches are rejected; nothing is deleted, and another `expires_after` ends it.',
    }),
    expires_after: Type.Optional(ExpiresAfter),
    expires_at: Seconds,
    last_active_at: Seconds,
    metadata: Type.Record(Type.String(), Type.String()),
  },
  {
    examples: [
      {
        id: STORE_ID,
        object: 'vector_store',
        created_at: 1763683200,
        name: 'Handbook',
        description: '',
        usage_bytes: 48213,
        file_counts: { in_progress: 0, completed: 1, failed: 0, cancelled: 0, total: 1 },
        status: 'completed',
        expires_at: null,
        last_active_at: 1763683200,
        metadata: {},
      },
    ],
  },
);

export type VectorStore = Static<typeof VectorStore>;

const FILE_STATUSES = ['in_progress', 'completed', 'failed', 'cancelled'] as const;

/** Status of a file of a store. */
export type FileStatus = (typeof FILE_STATUSES)[number];

/** The object of a file of a vector store. */
export const VectorStoreFile = Type.Object(
  {
    id: Type.String({ description: 'The id of the uploaded file; that of the document if it was not uploaded.' }),
    object: Type.Literal('vector_store.file'),
    created_at: UnixSeconds,
    vector_store_id: Type.String(),
    usage_bytes: Type.Integer(),
    status: Type.Enum([...FILE_STATUSES]),
    last_error: Type.Union([
      Type.Object({
        code: Type.Enum(['server_error', 'unsupported_file', 'invalid_file']),
        message: Type.String(),
      }),
      Type.Null(),
    ]),
    chunking_strategy: ShownStrategy,
    attributes: ShownAttributes,
  },
  {
    examples: [
      {
        id: FILE_ID,
        object: 'vector_store.file',
        created_at: 1763683200,
        vector_store_id: STORE_ID,
        usage_bytes: 48213,
        status: 'completed',
        last_error: null,
        chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 512, chunk_overlap_tokens: 64 } },
        attributes: { region: 'eu' },
      },
    ],
  },
);

export type VectorStoreFile = Static<typeof VectorStoreFile>;

const FILE_FIELDS = {
  file_id: Type.String({ description: 'A file of the purpose `assistants`, `user_data` or `knowledge-base`.' }),
  attributes: Type.Optional(Attributes),
  chunking_strategy: Type.Optional(FileChunking),
};

/** Body of `POST /v1/vector_stores/{vector_store_id}/files`. */
export const AddFile = Type.Object(FILE_FIELDS, {
  [NULL_IS_ABSENT]: true,
  title: 'AddVectorStoreFile',
  examples: [{ file_id: FILE_ID, attributes: { region: 'eu' } }],
});

export type AddFile = Static<typeof AddFile>;

/** Body of `POST /v1/vector_stores/{vector_store_id}/files/{file_id}`. */
export const UpdateFile = Type.Object(
  { attributes: Type.Union([Attributes, Type.Null()], { description: 'Replaces all attributes. Null: none.' }) },
  { title: 'UpdateVectorStoreFile', examples: [{ attributes: { region: 'us' } }] },
);

export type UpdateFile = Static<typeof UpdateFile>;

/** Files of one batch. */
const MAX_BATCH_FILES = 2000;

/** Body of `POST /v1/vector_stores/{vector_store_id}/file_batches`. */
export const CreateFileBatch = Type.Object(
  {
    file_ids: Type.Optional(
      Type.Array(Type.String(), {
        minItems: 1,
        maxItems: MAX_BATCH_FILES,
        description: 'Files with the `attributes` and the `chunking_strategy` of the batch. Not with `files`.',
      }),
    ),
    files: Type.Optional(
      Type.Array(Type.Object(FILE_FIELDS), {
        minItems: 1,
        maxItems: MAX_BATCH_FILES,
        description: 'Files with attributes and sizes of their own.',
      }),
    ),
    attributes: Type.Optional(Attributes),
    chunking_strategy: Type.Optional(FileChunking),
  },
  { [NULL_IS_ABSENT]: true, examples: [{ file_ids: [FILE_ID], attributes: { region: 'eu' } }] },
);

export type CreateFileBatch = Static<typeof CreateFileBatch>;

/** The object of a file batch. */
export const FileBatch = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('vector_store.files_batch'),
    created_at: UnixSeconds,
    vector_store_id: Type.String(),
    status: Type.Enum([...FILE_STATUSES], { description: '`failed`: all of its files failed.' }),
    file_counts: FileCounts,
  },
  {
    examples: [
      {
        id: 'vsfb_01kaj3v0b8s4x2m6n9p1q5r7t3',
        object: 'vector_store.files_batch',
        created_at: 1763683200,
        vector_store_id: STORE_ID,
        status: 'in_progress',
        file_counts: { in_progress: 2, completed: 0, failed: 0, cancelled: 0, total: 2 },
      },
    ],
  },
);

export type FileBatch = Static<typeof FileBatch>;

/** Query parameters of all lists of this API. */
export const StoreListQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })),
  order: Type.Optional(Type.Enum(['asc', 'desc'], { default: 'desc', description: 'By creation.' })),
  after: Type.Optional(Type.String({ description: 'Id of the last item of the page before.' })),
  before: Type.Optional(Type.String({ description: 'Id of the first item of the page after. Not with `after`.' })),
});

export type StoreListQuery = Static<typeof StoreListQuery>;

/** Query parameters of lists of files. */
export const StoreFileListQuery = Type.Object({
  ...StoreListQuery.properties,
  filter: Type.Optional(Type.Enum([...FILE_STATUSES], { description: 'Only files with this status.' })),
});

export type StoreFileListQuery = Static<typeof StoreFileListQuery>;

/** Query parameters of the content of a file. */
export const ContentQuery = Type.Object({
  page: Type.Optional(Type.String({ description: 'The `next_page` of the page before.' })),
});

const Text = Type.Object({ type: Type.Literal('text'), text: Type.String() });
const NextPage = Type.Union([Type.String(), Type.Null()]);

/** Response of `GET /v1/vector_stores/{vector_store_id}/files/{file_id}/content`. */
export const FileContent = Type.Object({
  object: Type.Literal('vector_store.file_content.page'),
  data: Type.Array(Text, { description: 'The extracted text; one item for each document of the file.' }),
  has_more: Type.Boolean(),
  next_page: NextPage,
});

export type FileContent = Static<typeof FileContent>;

const Query = Type.String({ minLength: 1, maxLength: MAX_QUERY_CHARACTERS });

/** Body of `POST /v1/vector_stores/{vector_store_id}/search`. */
export const SearchVectorStore = Type.Object(
  {
    query: Type.Union([Query, Type.Array(Query, { minItems: 1, maxItems: MAX_QUERIES })], {
      description: 'With several queries, a chunk has its best score.',
    }),
    rewrite_query: Type.Optional(Type.Boolean({ description: 'Accepted; queries are searched as they are.' })),
    max_num_results: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, default: 10 })),
    filters: Type.Optional(AttributeFilter),
    ranking_options: Type.Optional(
      Type.Object({
        ranker: Type.Optional(
          Type.Enum(['none', 'auto', 'default-2024-11-15'], {
            description: '`default-2024-11-15` reranks with the default model; the others do not.',
          }),
        ),
        score_threshold: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
      }),
    ),
  },
  { [NULL_IS_ABSENT]: true, examples: [{ query: 'When are refunds paid?', max_num_results: 5 }] },
);

export type SearchVectorStore = Static<typeof SearchVectorStore>;

const SearchResult = Type.Object({
  file_id: Type.String(),
  filename: Type.String(),
  score: Type.Number({ minimum: 0, maximum: 1 }),
  attributes: ShownAttributes,
  content: Type.Array(Text),
});

/** Response of a search. */
export const VectorStoreSearch = Type.Object({
  object: Type.Literal('vector_store.search_results.page'),
  search_query: Type.Array(Type.String()),
  data: Type.Array(SearchResult),
  has_more: Type.Boolean(),
  next_page: NextPage,
});

export type VectorStoreSearch = Static<typeof VectorStoreSearch>;

const deleted = <T extends string>(object: T) =>
  Type.Object({ id: Type.String(), object: Type.Literal(object), deleted: Type.Literal(true) });

/** Response of `DELETE /v1/vector_stores/{vector_store_id}`. */
export const DeletedVectorStore = deleted('vector_store.deleted');
/** Response of `DELETE /v1/vector_stores/{vector_store_id}/files/{file_id}`. */
export const DeletedVectorStoreFile = deleted('vector_store.file.deleted');

/** Path parameters of a store. */
export const StoreParams = Type.Object({ vector_store_id: Type.String() });
/** Path parameters of a file of a store. */
export const StoreFileParams = Type.Object({ ...StoreParams.properties, file_id: Type.String() });

/** Path parameters of a file batch. */
export const FileBatchParams = Type.Object({ ...StoreParams.properties, file_batch_id: Type.String() });

titleSchemas({
  CreateFileBatch,
  FileBatch,
  CreateVectorStore,
  UpdateVectorStore,
  VectorStore,
  VectorStoreFile,
  FileContent,
  SearchVectorStore,
  VectorStoreSearch,
  DeletedVectorStore,
  DeletedVectorStoreFile,
});

/** Schemas of lists. */
export const StoreList = listSchema(VectorStore);
export const StoreFileList = listSchema(VectorStoreFile);

import { Field, FixedSizeList, Float32, Int32, List, Schema, Utf8 } from 'apache-arrow';
import { type Static, Type } from 'typebox';
import { POSTED_FORMATS } from '../../connectors/posted-store.ts';
import { STORED_SOURCE_TYPES } from '../../connectors/source-types.ts';
import { DOCUMENT_WARNING_CODES } from '../../extraction/document-warning.ts';
import { JOB_ERROR_CODES } from '../../extraction/ingestion-error.ts';
import { MAX_FILE_BYTES } from '../../extraction/limits.ts';
import { EMBEDDING_DIMENSIONS } from '../../lib/embedding-dimensions.ts';
import { CreateKnowledgeBase, MetadataObject } from '../schema.ts';

/** Name of the format in the manifest. `docs/develop/knowledge-base-archive.md` describes it. */
export const FORMAT = 'quire-knowledge-base';
/** Version that this program writes. It reads this one only. */
export const FORMAT_VERSION = 1;
/** Media type of an archive. */
export const ARCHIVE_MEDIA_TYPE = 'application/x-tar';

/** Maximum bytes of an archive: 64 GiB. */
export const MAX_ARCHIVE_BYTES = 64 * 2 ** 30;
/** Maximum bytes of a JSON or Arrow part, which is read into memory. A posted text has up to 64 MiB. */
export const MAX_PART_BYTES = 96 * 2 ** 20;
/** Maximum bytes of the chunks of one documents part. */
export const MAX_CHUNK_BYTES = 512 * 2 ** 20;
export const MAX_CONTENT_BYTES = MAX_FILE_BYTES;
/** Maximum documents of a documents part, and rows of a chunks part. */
export const MAX_DOCUMENTS = 128;
export const MAX_CHUNK_ROWS = 512;
/** Vectors of larger documents are left out, so that their chunks stay below `MAX_CHUNK_BYTES`. */
export const MAX_CHUNKS_WITH_VECTORS = 65_536;
/** Maximum data sources of an archive. */
const MAX_SOURCES = 1_000;
/** Largest value of an `integer` column. */
const MAX_INTEGER = 2_147_483_647;

const Count = Type.Integer({ minimum: 0, maximum: MAX_INTEGER });
const Milliseconds = Type.Integer({ minimum: 0, maximum: 253_402_300_799_999 });
const Bytes = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const nullable = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) => Type.Union([schema, Type.Null()]);
const Text = Type.String({ maxLength: 65_536 });
const Hash = Type.String({ pattern: '^[0-9a-f]{64}$' });
const FileNumber = nullable(Type.Integer({ minimum: 1, maximum: MAX_INTEGER }));

const { name, description, chunking_strategy, metadata } = CreateKnowledgeBase.properties;

/** The first part: what the archive holds. */
export const Manifest = Type.Object({
  format: Type.Literal(FORMAT),
  version: Type.Integer(),
  /** Version of Quire that wrote the archive. */
  created_by: Text,
  created_at: Count,
  knowledge_base: Type.Object({
    name,
    description,
    embedding_model: Text,
    embedding_fingerprint: nullable(Text),
    chunking_strategy,
    metadata,
    expires_after_days: nullable(Type.Integer({ minimum: 1, maximum: 365_000 })),
  }),
  data_sources: Type.Array(
    Type.Object({
      type: Type.Enum([...STORED_SOURCE_TYPES]),
      name: Type.String({ minLength: 1, maxLength: 65_536 }),
      /** Without secrets, and without ids of files. */
      config: MetadataObject,
      document_count: Count,
    }),
    { maxItems: MAX_SOURCES },
  ),
});

export type Manifest = Static<typeof Manifest>;

/** Describes the file whose content is the next entry. */
export const ArchivedFile = Type.Object({ filename: Type.String({ maxLength: 4096 }), sha256: Hash, bytes: Bytes });

export type ArchivedFile = Static<typeof ArchivedFile>;

/** A document that a caller has posted. */
export const ArchivedPost = Type.Object({
  key: Text,
  name: Text,
  text: nullable(Type.String()),
  format: Type.Enum([...POSTED_FORMATS]),
  /** Number of its file in the data source; null for a text. */
  file: FileNumber,
  metadata: MetadataObject,
  expires_at: nullable(Milliseconds),
  chunk_size: nullable(Type.Object({ chunkSizeTokens: Count, chunkOverlapTokens: Count })),
  is_cancelled: Type.Boolean(),
  fingerprint: Text,
});

export type ArchivedPost = Static<typeof ArchivedPost>;

/** A document. Its chunks are rows of the following chunks parts. */
export const ArchivedDocument = Type.Object({
  /** Empty for a document of an uploaded file: the id of its file. */
  item_key: Text,
  /** Number of its file in the data source; null without one. */
  file: FileNumber,
  part: Text,
  fingerprint: Text,
  name: Text,
  source_type: Text,
  /** With a file: what follows its id, such as `#2`. */
  source_uri: nullable(Text),
  mime_type: nullable(Text),
  bytes: Bytes,
  content_hash: nullable(Hash),
  extraction_hash: nullable(Text),
  chunk_count: Count,
  error: nullable(
    Type.Object({
      code: Type.Enum([...JOB_ERROR_CODES]),
      message: Text,
      param: Type.Null(),
      retryable: Type.Boolean(),
    }),
  ),
  warnings: Type.Array(Type.Object({ code: Type.Enum([...DOCUMENT_WARNING_CODES]), message: Text }), {
    maxItems: 1_000,
  }),
  metadata: MetadataObject,
  own_metadata: nullable(Type.Object({ metadata: MetadataObject, leftOutKeys: Type.Array(Text) })),
  unfilterable_keys: Type.Array(Text),
  embedding_fingerprint: nullable(Text),
  language: Text,
  created_at: Milliseconds,
  updated_at: Milliseconds,
  expires_at: nullable(Milliseconds),
});

export type ArchivedDocument = Static<typeof ArchivedDocument>;

/** A documents part. */
export const DocumentsPart = Type.Array(ArchivedDocument, { minItems: 1, maxItems: MAX_DOCUMENTS });

/** The last part: what the archive must have had. */
export const ArchiveEnd = Type.Object({ files: Count, posts: Count, documents: Count, chunks: Count });

export type ArchiveEnd = Static<typeof ArchiveEnd>;

const Places = { headingPath: Type.Array(Text), page: nullable(Count) };

/** JSON columns of chunks. */
export const ArchivedPlaces = nullable(Type.Array(Type.Object({ ...Places, start: Count })));
export const ArchivedBoxes = nullable(
  Type.Array(Type.Array(Type.Number(), { minItems: 7, maxItems: 7 }) /* As `TextBox`. */),
);

const utf8 = new Utf8();

/** Columns of a chunks part. */
export const CHUNK_SCHEMA = new Schema([
  /** Index of the document in the documents part before, from 0. */
  new Field('document', new Int32(), false),
  new Field('text', utf8, false),
  new Field('tokens', new Int32(), false),
  new Field('start_index', new Int32(), false),
  new Field('end_index', new Int32(), false),
  new Field('page', new Int32(), true),
  new Field('cells', utf8, true),
  new Field('heading_path', new List(new Field('item', utf8, true)), false),
  /** JSON. */
  new Field('later_places', utf8, true),
  new Field('boxes', utf8, true),
  /** L2-normalised; null: the chunk is embedded again. */
  new Field('vector', new FixedSizeList(EMBEDDING_DIMENSIONS, new Field('item', new Float32(), true)), true),
]);

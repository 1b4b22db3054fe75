import { type Static, Type } from 'typebox';
import { STORED_SOURCE_TYPES } from '../../connectors/source-types.ts';
import { titleSchemas } from '../../lib/title-schemas.ts';
import { KnowledgeBase } from '../schema.ts';
import { MAX_ARCHIVE_BYTES } from './format.ts';

/** Form of `POST /v1/knowledge-bases/import`. Only describes it in OpenAPI: the form is read while it is streamed. */
export const ImportForm = Type.Object({
  name: Type.Optional(
    Type.String({ description: 'Name of the new knowledge base, instead of the archived one. Sent before the file.' }),
  ),
  embedding_model: Type.Optional(
    Type.String({ description: 'Embedding model, instead of the archived one. Sent before the file.' }),
  ),
  file: Type.String({
    format: 'binary',
    description: `An archive of an export, at most ${MAX_ARCHIVE_BYTES} bytes.`,
  }),
});

/** Response of `POST /v1/knowledge-bases/import`. */
export const ImportedKnowledgeBase = Type.Object({
  object: Type.Literal('knowledge_base_import'),
  knowledge_base: KnowledgeBase,
  data_sources: Type.Array(
    Type.Object({
      id: Type.String(),
      type: Type.Enum([...STORED_SOURCE_TYPES]),
      name: Type.String(),
      ingestion_job_id: Type.String({ description: 'The job that imports its documents.' }),
      needs_credentials: Type.Boolean({
        description: 'Archives have no credentials: syncs fail until `PATCH` sends them.',
      }),
    }),
  ),
});

export type ImportedKnowledgeBase = Static<typeof ImportedKnowledgeBase>;

titleSchemas({ ImportForm, ImportedKnowledgeBase });

/** Arguments and results of the tools. */
import { type Static, Type } from 'typebox';
import { POSTED_FORMATS } from '../../connectors/posted-store.ts';
import { ModerationField } from '../../inference/moderation-notice.ts';

/** Knowledge bases that one call searches, as in chat completions. */
export const MAX_KNOWLEDGE_BASES = 64;

const KnowledgeBaseIds = Type.Optional(
  Type.Array(Type.String(), {
    minItems: 1,
    maxItems: MAX_KNOWLEDGE_BASES,
    description: 'Ids of list_knowledge_bases. Default: all of them.',
  }),
);

/** Arguments of a tool that takes none. */
export const NoArguments = Type.Object({});

/** Arguments of `search`. */
export const SearchArguments = Type.Object({
  query: Type.String({ minLength: 1, maxLength: 10_000, description: 'A question or keywords.' }),
  knowledge_base_ids: KnowledgeBaseIds,
  top_k: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, default: 10 })),
});

export type SearchArguments = Static<typeof SearchArguments>;

/** Result of `search`: `id`, `title` and `url` as hosted assistants expect them. */
export const SearchToolResult = Type.Object({
  results: Type.Array(
    Type.Object({
      id: Type.String({ description: 'For fetch.' }),
      title: Type.String(),
      url: Type.String(),
      text: Type.String({ description: 'The passage.' }),
      score: Type.Number(),
      page: Type.Union([Type.Integer(), Type.Null()]),
    }),
  ),
});

export type SearchToolResult = Static<typeof SearchToolResult>;

/** Arguments of `fetch`. */
export const FetchArguments = Type.Object({
  id: Type.String({ minLength: 1, description: 'An id of a search result.' }),
});

/** Result of `fetch`. */
export const FetchResult = Type.Object({
  id: Type.String(),
  title: Type.String(),
  text: Type.String(),
  url: Type.String(),
  metadata: Type.Object({
    knowledge_base_id: Type.String(),
    document_id: Type.String(),
    mime_type: Type.Union([Type.String(), Type.Null()]),
    updated_at: Type.Integer({ description: 'Unix seconds.' }),
    is_truncated: Type.Boolean({ description: 'Whether the document goes on after `text`.' }),
  }),
});

export type FetchResult = Static<typeof FetchResult>;

/** Arguments of `add_document`. */
export const AddDocumentArguments = Type.Object({
  knowledge_base_id: Type.String(),
  key: Type.String({ minLength: 1, description: 'Your name of the document. The same key replaces it.' }),
  text: Type.String({ minLength: 1 }),
  format: Type.Optional(Type.Enum([...POSTED_FORMATS], { description: 'Default: text.' })),
  title: Type.Optional(Type.String({ minLength: 1 })),
});

export type AddDocumentArguments = Static<typeof AddDocumentArguments>;

/** Result of `add_document`. */
export const AddDocumentResult = Type.Object({
  id: Type.String({ description: 'For fetch.' }),
  status: Type.String({ description: '`processing` until searches find it, `completed` if it has not changed.' }),
});

export type AddDocumentResult = Static<typeof AddDocumentResult>;

/** Arguments of `ask`. */
export const AskArguments = Type.Object({
  question: Type.String({ minLength: 1, maxLength: 100_000 }),
  knowledge_base_ids: KnowledgeBaseIds,
  model: Type.Optional(Type.String({ minLength: 1, description: 'Default: the first chat model of the service.' })),
});

export type AskArguments = Static<typeof AskArguments>;

/** Result of `ask`. */
export const AskResult = Type.Object({
  answer: Type.String(),
  model: Type.String(),
  moderation: Type.Optional(ModerationField),
  citations: Type.Array(
    Type.Object({
      id: Type.String({ description: 'For fetch.' }),
      title: Type.String(),
      url: Type.String(),
      start_index: Type.Integer({ description: 'Start of the part of the answer, in UTF-16 code units.' }),
      end_index: Type.Integer(),
    }),
  ),
});

export type AskResult = Static<typeof AskResult>;

/** Result of `list_knowledge_bases`. */
export const KnowledgeBasesResult = Type.Object({
  knowledge_bases: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      description: Type.Union([Type.String(), Type.Null()]),
      document_count: Type.Integer(),
    }),
  ),
});

export type KnowledgeBasesResult = Static<typeof KnowledgeBasesResult>;

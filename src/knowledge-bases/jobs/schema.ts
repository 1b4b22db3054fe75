import { type Static, Type } from 'typebox';
import { ListOrder, ListQuery } from '../../db/page.ts';
import { DOCUMENT_WARNING_CODES } from '../../extraction/document-warning.ts';
import { JOB_ERROR_CODES } from '../../extraction/ingestion-error.ts';
import { titleSchemas } from '../../lib/title-schemas.ts';
import { KnowledgeBaseParams } from '../schema.ts';

/** Statuses of a job, in their order. */
export const JOB_STATUSES = ['queued', 'processing', 'completed', 'failed'] as const;

/** Statuses of a document in a job. */
const DETAIL_STATUSES = ['completed', 'failed'] as const;

/** Maximum number of documents of a job per response. A source may have a hundred thousand. */
export const MAX_DETAILS = 1000;

/** Error of a job or a document; null without an error. */
export const JobErrorOrNull = Type.Union([
  Type.Object({
    code: Type.Enum([...JOB_ERROR_CODES]),
    message: Type.String(),
    param: Type.Null(),
    retryable: Type.Boolean({ description: 'Whether trying again later may help.' }),
  }),
  Type.Null(),
]);

/** Possible defects of an ingested document. */
export const DocumentWarnings = Type.Array(
  Type.Object({
    code: Type.Enum([...DOCUMENT_WARNING_CODES], {
      description:
        '`text_missing`: pages of a PDF have no text, are damaged, or are in fonts that do not say which characters they draw. `text_recognized`: pages were read by OCR, which makes mistakes, or skipped. `parts_skipped`: files of an archive or attachments of a mail were not read.',
    }),
    message: Type.String(),
  }),
  { description: 'What may be wrong with a document that was ingested all the same; searches may miss part of it.' },
);

/** Pages of a file that OCR has read. */
export const OcrProgress = Type.Object({
  document: Type.String({ description: 'Name of the file.' }),
  page: Type.Integer({ description: 'Pages that were read so far.' }),
  pages: Type.Integer({ description: 'Pages that are read by OCR: in a PDF, those without text.' }),
});

export type OcrProgress = Static<typeof OcrProgress>;

const Listed = {
  id: Type.String(),
  object: Type.Literal('ingestion_job'),
  knowledge_base_id: Type.String(),
  data_source_id: Type.String(),
  status: Type.Enum([...JOB_STATUSES]),
  documents_processed: Type.Integer({ description: 'Documents that were ingested so far.' }),
  documents_failed: Type.Integer(),
  chunks_created: Type.Integer({
    description: 'Those of documents whose text is what it was are kept, and are not among them.',
  }),
  documents_scanned: Type.Integer({
    description:
      'Documents that the source was found to have so far: those that are new, modified or skipped, and those still to be read.',
  }),
  documents_new: Type.Integer(),
  documents_modified: Type.Integer(),
  documents_deleted: Type.Integer({ description: 'Documents that the source has no more.' }),
  documents_skipped: Type.Integer({ description: 'Documents that are as they were.' }),
  documents_pending_deletion: Type.Integer({
    description:
      'Documents missing from the source that were not deleted, because they are more than half of its documents. The next sync deletes them if they are still missing.',
  }),
  reading: Type.Array(OcrProgress, {
    description: 'Files of which OCR is reading pages at the moment, updated at most once a second; often none.',
  }),
  started_at: Type.Union([Type.Integer(), Type.Null()], { description: 'Unix seconds.' }),
  completed_at: Type.Union([Type.Integer(), Type.Null()], {
    description: 'When it completed or failed, in Unix seconds.',
  }),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  error: JobErrorOrNull,
};

const EXAMPLE = {
  id: 'job_01kaj3v0b8s4x2m6n9p1q5r7t3',
  object: 'ingestion_job',
  knowledge_base_id: 'kb_01kaj3v0b8s4x2m6n9p1q5r7t3',
  data_source_id: 'ds_01kaj3v0b8s4x2m6n9p1q5r7t3',
  status: 'completed',
  documents_processed: 12,
  documents_failed: 0,
  chunks_created: 214,
  documents_scanned: 12,
  documents_new: 12,
  documents_modified: 0,
  documents_deleted: 0,
  documents_skipped: 0,
  documents_pending_deletion: 0,
  reading: [],
  started_at: 1763683200,
  completed_at: 1763683209,
  created_at: 1763683200,
  error: null,
};

/** The ingestion job object. */
export const IngestionJob = Type.Object(Listed, { examples: [EXAMPLE] });

export type IngestionJob = Static<typeof IngestionJob>;

/** An event of the stream of jobs. */
export const JobEvent = Type.Union(
  [
    Type.Object({
      type: Type.Literal('snapshot'),
      jobs: Type.Array(IngestionJob, { description: 'All unfinished jobs, and the newest ones. Newest first.' }),
    }),
    Type.Object({ type: Type.Literal('job'), job: IngestionJob }),
  ],
  { examples: [{ type: 'job', job: EXAMPLE }] },
);

export type JobEvent = Static<typeof JobEvent>;

/** Result of a document in a job. */
export const DocumentDetail = Type.Object({
  document_id: Type.String(),
  document_name: Type.String(),
  status: Type.Enum([...DETAIL_STATUSES]),
  chunks_created: Type.Integer(),
  error: JobErrorOrNull,
  warnings: DocumentWarnings,
});

export type DocumentDetail = Static<typeof DocumentDetail>;

/** The job object with its documents. */
export const DetailedJob = Type.Object({
  ...Listed,
  document_details: Type.Array(DocumentDetail, {
    description: `The documents that it has worked on, in the order of their ids: at most ${MAX_DETAILS}.`,
  }),
  document_details_has_more: Type.Boolean({
    description: 'Whether there are more; `details_after`, with the id of the last document, goes on.',
  }),
});

export type DetailedJob = Static<typeof DetailedJob>;

/** Query parameters of the list of jobs. */
export const JobListQuery = Type.Object({
  ...ListQuery.properties,
  status: Type.Optional(Type.Enum([...JOB_STATUSES], { description: 'Only jobs of this status.' })),
  data_source_id: Type.Optional(Type.String({ description: 'Only jobs of this data source.' })),
  order: ListOrder,
});

export type JobListQuery = Static<typeof JobListQuery>;

/** Query parameters of one job: filter and page of its documents. */
export const JobQuery = Type.Object({
  details_after: Type.Optional(Type.String({ description: 'Only documents after this one.' })),
  details_status: Type.Optional(Type.Enum([...DETAIL_STATUSES], { description: 'Only documents of this status.' })),
  details_with_warnings: Type.Optional(
    Type.Boolean({ description: 'Whether only documents with warnings are shown.' }),
  ),
});

export type JobQuery = Static<typeof JobQuery>;

/** Path parameters of one job. */
export const JobParams = Type.Object({ ...KnowledgeBaseParams.properties, job_id: Type.String() });

titleSchemas({ DocumentWarnings, OcrProgress, IngestionJob, JobEvent, DocumentDetail, DetailedJob });

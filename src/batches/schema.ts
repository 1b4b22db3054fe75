import { type Static, Type } from 'typebox';
import { ListOrder, ListQuery } from '../db/page.ts';
import { FileExpiration } from '../files/schema.ts';
import { MetadataObject } from '../knowledge-bases/schema.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

/** Endpoints that lines may call. */
export const BATCH_ENDPOINTS = ['/v1/chat/completions', '/v1/completions', '/v1/embeddings'] as const;

/** One of `BATCH_ENDPOINTS`. */
export type BatchEndpointPath = (typeof BATCH_ENDPOINTS)[number];

/** Time within which a batch ends. */
export const COMPLETION_WINDOW_MS = 24 * 60 * 60 * 1000;

/** Maximum number of requests in one batch. */
export const MAX_BATCH_LINES = 50_000;
/** Maximum bytes of one line: 16 MiB. */
export const MAX_LINE_BYTES = 16_777_216;
/** Maximum UTF-16 code units of a `custom_id`. Bounds the unique index on custom ids. */
export const MAX_CUSTOM_ID_CHARACTERS = 512;
/** Maximum number of validation errors that a batch reports. */
export const MAX_BATCH_ERRORS = 1_000;
/** Maximum number of them in a list of batches. */
export const MAX_LISTED_ERRORS = 10;

const STATUSES = [
  'validating',
  'failed',
  'in_progress',
  'finalizing',
  'completed',
  'expired',
  'cancelling',
  'cancelled',
] as const;

/** State of a batch. */
export type BatchStatus = (typeof STATUSES)[number];

/** Codes of validation errors. */
export const BATCH_ERROR_CODES = [
  'invalid_json_line',
  'missing_required_field',
  'invalid_url',
  'invalid_method',
  'duplicate_custom_id',
  'model_not_found',
  'streaming_unsupported',
  'too_many_requests_in_batch',
  'line_too_large',
  'empty_file',
] as const;

const nullableTime = (description?: string) =>
  Type.Union([Type.Integer(), Type.Null()], description === undefined ? {} : { description });
const nullableText = (description: string) => Type.Union([Type.String(), Type.Null()], { description });

/** Request body of `POST /v1/batches`. */
export const CreateBatch = Type.Object(
  {
    input_file_id: Type.String({
      description: 'A JSONL file of the purpose `batch`, with one request per line.',
      // Clients check files before they upload them, as the console does.
      'x-limits': {
        max_lines: MAX_BATCH_LINES,
        max_line_bytes: MAX_LINE_BYTES,
        max_custom_id_characters: MAX_CUSTOM_ID_CHARACTERS,
      },
    }),
    endpoint: Type.Enum([...BATCH_ENDPOINTS], { description: 'The endpoint of every request in the file.' }),
    completion_window: Type.Enum(['24h'], { description: 'Time after which unfinished requests expire.' }),
    output_expires_after: Type.Optional(
      Type.Union([FileExpiration, Type.Null()], {
        description: 'Deletes the output and the error file by themselves. Default: never.',
      }),
    ),
    metadata: Type.Optional(
      Type.Union([MetadataObject, Type.Null()], { description: 'Data of the caller, at most 64 KiB.' }),
    ),
  },
  {
    examples: [
      {
        input_file_id: 'file-01kaj3v0b8s4x2m6n9p1q5r7t3',
        endpoint: '/v1/chat/completions',
        completion_window: '24h',
      },
    ],
  },
);

export type CreateBatch = Static<typeof CreateBatch>;

const BatchError = Type.Object({
  code: Type.Enum([...BATCH_ERROR_CODES]),
  message: Type.String(),
  param: nullableText('Field of the line.'),
  line: Type.Union([Type.Integer(), Type.Null()], { description: 'Line number in the file, from 1.' }),
});

export type BatchError = Static<typeof BatchError>;

const RequestCounts = Type.Object({
  total: Type.Integer({ description: '0 until the file is validated.' }),
  completed: Type.Integer(),
  failed: Type.Integer(),
});

const BatchUsage = Type.Object(
  {
    input_tokens: Type.Integer(),
    input_tokens_details: Type.Object({ cached_tokens: Type.Integer() }),
    output_tokens: Type.Integer(),
    output_tokens_details: Type.Object({ reasoning_tokens: Type.Integer() }),
    total_tokens: Type.Integer(),
  },
  { description: 'Of the requests so far.' },
);

const Listed = {
  id: Type.String(),
  object: Type.Literal('batch'),
  endpoint: Type.Enum([...BATCH_ENDPOINTS]),
  input_file_id: Type.String(),
  completion_window: Type.Literal('24h'),
  status: Type.Enum([...STATUSES]),
  output_file_id: nullableText('Results of requests that succeeded; null when there are none.'),
  error_file_id: nullableText('Requests that failed; null when there are none.'),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  in_progress_at: nullableTime(),
  expires_at: Type.Integer({ description: '24 hours after `created_at`.' }),
  finalizing_at: nullableTime(),
  completed_at: nullableTime(),
  failed_at: nullableTime(),
  expired_at: nullableTime(),
  cancelling_at: nullableTime(),
  cancelled_at: nullableTime(),
  request_counts: RequestCounts,
  model: Type.Optional(Type.String({ description: 'Of all requests. Absent if they name several models.' })),
  usage: BatchUsage,
  cost_micros: Type.Integer({ description: 'Price of the requests so far; 1,000,000 micros are one credit.' }),
  metadata: MetadataObject,
};

const batchErrors = (description: string) =>
  Type.Union([Type.Object({ object: Type.Literal('list'), data: Type.Array(BatchError) }), Type.Null()], {
    description: `Why the file was rejected, ${description}; null unless the status is \`failed\`.`,
  });

/** A batch in a list: with few of its errors, because a page of batches can have 100,000. */
export const ListedBatch = Type.Object({
  ...Listed,
  errors: batchErrors(`the first ${MAX_LISTED_ERRORS} errors`),
});

export type ListedBatch = Static<typeof ListedBatch>;

/** The batch object. */
export const Batch = Type.Object(
  {
    ...Listed,
    errors: batchErrors(`at most ${MAX_BATCH_ERRORS} errors`),
  },
  {
    examples: [
      {
        id: 'batch_01kaj3v0b8s4x2m6n9p1q5r7t3',
        object: 'batch',
        endpoint: '/v1/chat/completions',
        errors: null,
        input_file_id: 'file-01kaj3v0b8s4x2m6n9p1q5r7t3',
        completion_window: '24h',
        status: 'in_progress',
        output_file_id: null,
        error_file_id: null,
        created_at: 1763683200,
        in_progress_at: 1763683201,
        expires_at: 1763769600,
        finalizing_at: null,
        completed_at: null,
        failed_at: null,
        expired_at: null,
        cancelling_at: null,
        cancelled_at: null,
        request_counts: { total: 1000, completed: 512, failed: 3 },
        model: 'general-8b',
        usage: {
          input_tokens: 61_800,
          input_tokens_details: { cached_tokens: 20_480 },
          output_tokens: 15_450,
          output_tokens_details: { reasoning_tokens: 0 },
          total_tokens: 77_250,
        },
        cost_micros: 48_200,
        metadata: {},
      },
    ],
  },
);

export type Batch = Static<typeof Batch>;

/** Path parameters of one batch. */
export const BatchParams = Type.Object({ batch_id: Type.String() });

/** Query parameters of the list. */
export const BatchListQuery = Type.Object({ ...ListQuery.properties, order: ListOrder });

export type BatchListQuery = Static<typeof BatchListQuery>;

titleSchemas({ CreateBatch, ListedBatch, Batch });

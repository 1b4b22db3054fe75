import { toUnixSeconds } from '../lib/unix-seconds.ts';
import { type Batch, type BatchError, type ListedBatch, MAX_LISTED_ERRORS } from './schema.ts';
import type { BatchRow } from './store.ts';

const toNullableSeconds = (date: Date | null): number | null => (date === null ? null : toUnixSeconds(date));

/** Converts a row to the form of lists. */
export function viewListedBatch(row: BatchRow): ListedBatch {
  return {
    id: row.id,
    object: 'batch',
    endpoint: row.endpoint,
    input_file_id: row.inputFileId,
    completion_window: '24h',
    status: row.status,
    output_file_id: row.outputFileId,
    error_file_id: row.errorFileId,
    created_at: toUnixSeconds(row.createdAt),
    in_progress_at: toNullableSeconds(row.inProgressAt),
    expires_at: toUnixSeconds(row.expiresAt),
    finalizing_at: toNullableSeconds(row.finalizingAt),
    completed_at: toNullableSeconds(row.completedAt),
    failed_at: toNullableSeconds(row.failedAt),
    expired_at: toNullableSeconds(row.expiredAt),
    cancelling_at: toNullableSeconds(row.cancellingAt),
    cancelled_at: toNullableSeconds(row.cancelledAt),
    request_counts: { total: row.totalLines, completed: row.completedLines, failed: row.failedLines },
    ...(row.model !== null && { model: row.model }),
    usage: {
      input_tokens: row.promptTokens,
      input_tokens_details: { cached_tokens: row.cachedTokens },
      output_tokens: row.completionTokens,
      output_tokens_details: { reasoning_tokens: row.reasoningTokens },
      total_tokens: row.promptTokens + row.completionTokens,
    },
    cost_micros: row.costMicros,
    metadata: row.metadata,
    errors: viewErrors(row.errors?.slice(0, MAX_LISTED_ERRORS)),
  };
}

/** Converts a row to the batch object of the API. */
export function viewBatch(row: BatchRow): Batch {
  return { ...viewListedBatch(row), errors: viewErrors(row.errors) };
}

const viewErrors = (errors: BatchError[] | null | undefined): Batch['errors'] =>
  errors == null ? null : { object: 'list', data: errors };

import type { ChunkSize } from '../../connectors/posted-store.ts';
import type { Sql } from '../../db/db.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue, missingField } from '../../errors.ts';
import { requireScope } from '../../http/auth.ts';
import { storeContents } from '../../knowledge-bases/ingestion/post-document.ts';
import type { KnowledgeBaseRow } from '../../knowledge-bases/store.ts';
import type { Call } from '../../lib/caller.ts';
import type { AddFile, FileChunking } from './schema.ts';

/** A file to add, with the paths of its fields in the request. */
export type FileToAttach = AddFile & { path: string; strategyPath: string };

/** Throws 403 without the scope `files`: chunks expose the content of a file. */
export const requireFileScope = (call: Call, param: string): void => requireScope(call.caller, 'files', param);

/**
 * Adds uploaded files to a locked knowledge base, each once, and queues their ingestion: posted documents with the id
 * of the file as key. Throws 404 `file_not_found`, and 400 naming the field.
 */
export function attachFiles(
  sql: Sql,
  deps: Pick<Deps, 'jobs' | 'now' | 'db'>,
  { call, base }: { call: Call; base: KnowledgeBaseRow },
  files: readonly FileToAttach[],
) {
  const unique = new Map(files.map((file) => [file.file_id, file]));
  const contents = [...unique.values()].map(({ file_id, attributes, chunking_strategy, path, strategyPath }) => ({
    key: file_id,
    title: null,
    text: null,
    format: 'text' as const,
    fileId: file_id,
    metadata: attributes ?? {},
    expiresAt: null,
    chunkSize: parseStrategy(chunking_strategy, strategyPath),
    param: path,
  }));
  return storeContents(sql, deps, { caller: call.caller, base }, contents);
}

function parseStrategy(strategy: FileChunking | undefined, path: string): ChunkSize | null {
  if (strategy === undefined || strategy.type === 'auto') return null;
  if (strategy.static === undefined) throw missingField(`${path}.static`);
  const { max_chunk_size_tokens: chunkSizeTokens, chunk_overlap_tokens: chunkOverlapTokens } = strategy.static;
  if (chunkOverlapTokens > chunkSizeTokens / 2) {
    throw invalidValue(`${path}.static.chunk_overlap_tokens`, "must be at most half of 'max_chunk_size_tokens'");
  }
  return { chunkSizeTokens, chunkOverlapTokens };
}

import type { Deps } from '../../deps.ts';
import { notFound } from '../../errors.ts';
import { findDocument } from '../../knowledge-bases/documents/find-document.ts';
import { type JoinedText, joinChunk } from '../../knowledge-bases/documents/join-chunks.ts';
import { listChunks } from '../../knowledge-bases/documents/list-chunks.ts';
import type { Call } from '../../lib/caller.ts';
import { toUnixSeconds } from '../../lib/unix-seconds.ts';
import type { FetchResult } from './schema.ts';

/** Characters of a document that one call returns: a book of 50 pages, and less than the context of large models. */
const MAX_TEXT_CHARACTERS = 100_000;
const CHUNKS_PER_PAGE = 100;

/** A document, and where in the service it is. */
export interface DocumentAddress {
  kb_id: string;
  document_id: string;
}

/** Id of a document for clients. Has both ids, because documents are found below their knowledge base. */
export const documentKey = ({ kb_id, document_id }: DocumentAddress): string => `${kb_id}/${document_id}`;

/** Reads an id of `documentKey`. Throws 404 for any other text. */
export function parseDocumentKey(id: string): DocumentAddress {
  const [kb_id, document_id, ...rest] = id.split('/');
  if (kb_id === undefined || document_id === undefined || rest.length > 0) throw notFound('document', id, 'id');
  return { kb_id, document_id };
}

/** Address of a document: that of its source, or else its page in the console at `origin`. */
export function documentUrl(origin: string, sourceUri: string | null, address: DocumentAddress): string {
  if (sourceUri !== null && /^https?:/.test(sourceUri)) return sourceUri;
  return `${origin}/knowledge-bases/${address.kb_id}/documents/${address.document_id}`;
}

/** Returns the text of a document, from its chunks. Throws 404 as `findDocument` does. */
export async function fetchDocument(
  deps: Pick<Deps, 'db'>,
  call: Call,
  origin: string,
  address: DocumentAddress,
): Promise<FetchResult> {
  const { organizationId } = call.caller;
  const row = await findDocument(deps, organizationId, address);
  let joined: JoinedText = { text: '', end: 0 };
  let after: string | undefined;
  let isTruncated = false;
  do {
    const query = { limit: CHUNKS_PER_PAGE, ...(after !== undefined && { after }) };
    const page = await listChunks(deps, organizationId, address, query);
    for (const { text, start_index: startIndex, end_index: endIndex } of page.data) {
      joined = joinChunk(joined, { text, startIndex, endIndex });
    }
    isTruncated = joined.text.length > MAX_TEXT_CHARACTERS;
    after = page.has_more && !isTruncated ? (page.last_id ?? undefined) : undefined;
  } while (after !== undefined);
  const { text } = joined;
  return {
    id: documentKey(address),
    title: row.name,
    text: isTruncated ? text.slice(0, MAX_TEXT_CHARACTERS).toWellFormed() : text,
    url: documentUrl(origin, row.sourceUri, address),
    metadata: {
      knowledge_base_id: row.knowledgeBaseId,
      document_id: row.id,
      mime_type: row.mimeType,
      updated_at: toUnixSeconds(row.updatedAt),
      is_truncated: isTruncated,
    },
  };
}

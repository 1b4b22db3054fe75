import { Readable } from 'node:stream';
import { Type } from 'typebox';
import { flattenMetadata } from '../extraction/flatten-metadata.ts';
import { IngestionError } from '../extraction/ingestion-error.ts';
import type { Connector } from './connector.ts';
import { fetchUploadedFile } from './file-upload.ts';
import type { PostedContent } from './posted-store.ts';

/** Documents that are compared at once. */
const DOCUMENTS_PER_PAGE = 200;
const FILES: Readonly<Record<PostedContent['format'], { filename: string; mediaType: string }>> = {
  text: { filename: 'document.txt', mediaType: 'text/plain; charset=utf-8' },
  markdown: { filename: 'document.md', mediaType: 'text/markdown; charset=utf-8' },
  html: { filename: 'document.html', mediaType: 'text/html; charset=utf-8' },
};

const Config = Type.Object({});

/** Texts and files that callers post with a key, which stays the same over all versions of a document. */
export const documentApi: Connector<typeof Config> = {
  type: 'api',
  config: Config,
  secretFields: [],
  listsChangesOnly: true,
  async *list({ postedStore }, _config, signal) {
    for (let after: string | undefined = ''; after !== undefined; ) {
      signal.throwIfAborted();
      const page = await postedStore.selectPending(after, DOCUMENTS_PER_PAGE);
      for (const { key, fingerprint, name, fileId, metadata, expiresAt, chunkSize } of page) {
        yield { key, fingerprint, name, uri: fileId, metadata: flattenMetadata(metadata), expiresAt, chunkSize };
      }
      after = page.at(-1)?.key;
    }
  },
  async fetch(deps, _config, { key }, signal) {
    const posted = await deps.postedStore.select(key);
    if (posted === null) throw new IngestionError('not_found', `The document '${key}' has been deleted.`);
    if (posted.isCancelled) throw new IngestionError('cancelled', 'The ingestion of this file was cancelled.');
    if (posted.fileId !== null) return fetchUploadedFile(deps, posted.fileId, signal);
    return { bytes: Readable.from([Buffer.from(posted.text ?? '')]), ...FILES[posted.format], metadata: {} };
  },
};

import { createHash } from 'node:crypto';
import type { Static, TSchema } from 'typebox';
import { TarError, TarReader } from '../../lib/tar.ts';
import { isLanguage } from '../../search/languages.ts';
import { checkMetadata } from '../metadata.ts';
import { ArchiveError } from './archive-error.ts';
import { type ArchivedChunk, decodeChunks, parsePart } from './chunk-part.ts';
import {
  type ArchivedDocument,
  ArchivedFile,
  ArchivedPost,
  ArchiveEnd,
  DocumentsPart,
  FORMAT_VERSION,
  MAX_CHUNK_BYTES,
  MAX_CONTENT_BYTES,
  MAX_PART_BYTES,
  Manifest,
} from './format.ts';

/** A part of an archive. `source`: number of the data source, from 1. */
export type ArchivePart =
  | { type: 'manifest'; manifest: Manifest }
  /** The content is checked while it is read, and skipped when it is not. */
  | { type: 'file'; source: number; number: number; file: ArchivedFile; content: AsyncIterable<Uint8Array> }
  | { type: 'post'; source: number; post: ArchivedPost }
  | { type: 'documents'; source: number; documents: { document: ArchivedDocument; chunks: ArchivedChunk[] }[] };

const NAME =
  /^(?:(?<only>manifest|end)|source-(?<source>[1-9]\d{0,3})\/(?<kind>files|posts|documents|chunks)\/(?<number>[1-9]\d{0,6}))\.(?<hash>[0-9a-f]{64})\.(?<extension>json|bin|arrow)$/;
/** Order of the kinds within a data source; chunks follow their documents. */
const ORDER = ['manifest', 'files', 'posts', 'documents', 'chunks', 'end'] as const;

type Kind = (typeof ORDER)[number];

interface Entry {
  part: string;
  kind: Kind;
  source: number;
  number: number;
  hash: string;
  extension: string;
  bytes: number;
}

/**
 * Reads and checks an archive as a stream. Names, order, sizes, checksums, values and totals must be those of an
 * archive that the service wrote: no name is used as a path, nothing is decompressed, and a part has a bounded size.
 * Throws an `ArchiveError` that names the part. With `onlySource`, other data sources are skipped unread, and the
 * reading ends after it.
 */
export async function* readArchive(
  bytes: AsyncIterable<Uint8Array>,
  { onlySource = null }: { onlySource?: number | null } = {},
): AsyncGenerator<ArchivePart> {
  const reader = new PartReader(new TarReader(bytes), onlySource);
  try {
    yield* reader.parts();
  } catch (error) {
    throw error instanceof TarError ? new ArchiveError('', error.message, error) : error;
  } finally {
    await reader.close();
  }
}

class PartReader {
  readonly #tar: TarReader;
  readonly #onlySource: number | null;
  readonly #totals: Static<typeof ArchiveEnd> = { files: 0, posts: 0, documents: 0, chunks: 0 };
  #previous: Pick<Entry, 'kind' | 'source'> = { kind: 'manifest', source: 0 };
  /** Next number of each kind in the current data source. */
  #numbers = { files: 1, posts: 1, documents: 1, chunks: 1 };

  constructor(tar: TarReader, onlySource: number | null) {
    this.#tar = tar;
    this.#onlySource = onlySource;
  }

  async close(): Promise<void> {
    await this.#tar.close();
  }

  async *parts(): AsyncGenerator<ArchivePart> {
    const manifest = await this.#readManifest();
    yield { type: 'manifest', manifest };
    for (;;) {
      const entry = await this.#next();
      if (entry.kind === 'end') return this.#checkEnd(entry, manifest);
      if (this.#onlySource !== null && entry.source > this.#onlySource) return;
      if (entry.source > manifest.data_sources.length)
        throw new ArchiveError(entry.part, 'is of an unknown data source');
      if (this.#onlySource === null || this.#onlySource === entry.source) yield await this.#readPart(entry);
      else if (entry.kind === 'files') await this.#nextContent(entry);
      else if (entry.kind === 'chunks') this.#totals.chunks += 1;
    }
  }

  async #readPart(entry: Entry): Promise<ArchivePart> {
    const { kind, source, number, part } = entry;
    if (kind === 'files') {
      const file = await this.#readJson(ArchivedFile, entry);
      this.#totals.files += 1;
      return { type: 'file', source, number, file, content: this.#checked(await this.#nextContent(entry), file) };
    }
    if (kind === 'posts') {
      this.#totals.posts += 1;
      const post = await this.#readJson(ArchivedPost, entry);
      checkFields(part, post);
      return { type: 'post', source, post };
    }
    if (kind === 'documents') return { type: 'documents', source, documents: await this.#readDocuments(entry) };
    throw new ArchiveError(part, 'follows no documents that have these chunks');
  }

  async #readManifest(): Promise<Manifest> {
    const entry = await this.#parseNext();
    if (entry?.kind !== 'manifest') throw new ArchiveError('', 'is none of a knowledge base: it has no manifest');
    const text = Buffer.from(await this.#readBytes(entry)).toString();
    const version = /^\{"format":"quire-knowledge-base","version":(\d+)/.exec(text)?.[1];
    if (version !== undefined && Number(version) !== FORMAT_VERSION) {
      throw new ArchiveError(
        'manifest',
        `has version ${version} of the format, and this version of Quire reads version ${FORMAT_VERSION}`,
      );
    }
    return parsePart(Manifest, text, entry.part);
  }

  async #readDocuments(entry: Entry): Promise<{ document: ArchivedDocument; chunks: ArchivedChunk[] }[]> {
    const documents = (await this.#readJson(DocumentsPart, entry)).map((document) => ({
      document,
      chunks: [] as ArchivedChunk[],
    }));
    const keys = new Set(
      documents.map(({ document }) => JSON.stringify([document.item_key, document.file, document.part])),
    );
    if (keys.size < documents.length) throw new ArchiveError(entry.part, 'has a document twice');
    const missing = () => documents.find(({ document, chunks }) => chunks.length < document.chunk_count);
    for (const { document } of documents) {
      checkFields(entry.part, document);
      if (!isLanguage(document.language))
        throw new ArchiveError(entry.part, `has the unknown language '${document.language}'`);
    }
    let bytes = 0;
    while (missing() !== undefined) {
      const next = await this.#next();
      if (next.kind !== 'chunks') throw new ArchiveError(entry.part, `lacks chunks: ${next.part} follows`);
      bytes += next.bytes;
      if (bytes > MAX_CHUNK_BYTES)
        throw new ArchiveError(entry.part, `has chunks of more than ${MAX_CHUNK_BYTES} bytes`);
      for (const chunk of decodeChunks(await this.#readBytes(next), next.part)) {
        const owner = documents[chunk.document];
        if (owner === undefined || owner !== missing())
          throw new ArchiveError(next.part, 'has chunks in another order');
        owner.chunks.push(chunk);
      }
    }
    this.#totals.documents += documents.length;
    this.#totals.chunks += documents.reduce((sum, { chunks }) => sum + chunks.length, 0);
    return documents;
  }

  async #checkEnd(entry: Entry, manifest: Manifest): Promise<void> {
    const end = await this.#readJson(ArchiveEnd, entry);
    if (this.#onlySource === null && JSON.stringify(end) !== JSON.stringify(this.#totals)) {
      throw new ArchiveError(
        entry.part,
        `expects ${JSON.stringify(end)}, and there were ${JSON.stringify(this.#totals)}`,
      );
    }
    if ((await this.#tar.next()) !== null) throw new ArchiveError('', `goes on after its end (${manifest.format})`);
    await this.#tar.drain();
  }

  /** Returns the next entry after checking its place. Throws at the end of the archive. */
  async #next(): Promise<Entry> {
    const entry = await this.#parseNext();
    if (entry === null) throw new ArchiveError('', 'ends early: it is truncated');
    const { kind, source, number, part } = entry;
    if (source !== this.#previous.source) this.#numbers = { files: 1, posts: 1, documents: 1, chunks: 1 };
    const isBackwards =
      source === this.#previous.source &&
      ORDER.indexOf(kind) < ORDER.indexOf(this.#previous.kind) &&
      !(kind === 'documents' && this.#previous.kind === 'chunks');
    if (kind === 'manifest' || source < this.#previous.source || isBackwards) {
      throw new ArchiveError(part, 'is at the wrong place');
    }
    if (kind !== 'end') {
      if (number !== this.#numbers[kind]) throw new ArchiveError(part, `is not the expected ${this.#numbers[kind]}`);
      this.#numbers[kind] += 1;
    }
    this.#previous = { kind, source };
    return entry;
  }

  async #parseNext(): Promise<Entry | null> {
    const next = await this.#tar.next();
    if (next === null) return null;
    const groups = NAME.exec(next.name)?.groups;
    const kind = (groups?.['only'] ?? groups?.['kind']) as Kind | undefined;
    const extension = groups?.['extension'];
    const isKnown =
      kind === 'chunks' ? extension === 'arrow' : extension === 'json' || (kind === 'files' && extension === 'bin');
    if (groups === undefined || kind === undefined || !isKnown) {
      throw new ArchiveError('', `has the entry ${JSON.stringify(next.name)}, which is none of its parts`);
    }
    const part = groups['only'] ?? `source-${groups['source']}/${kind}/${groups['number']}`;
    const source = groups['only'] === 'end' ? Number.POSITIVE_INFINITY : Number(groups['source'] ?? 0);
    const limit = extension === 'bin' ? MAX_CONTENT_BYTES : MAX_PART_BYTES;
    if (next.bytes > limit) throw new ArchiveError(part, `is larger than ${limit} bytes`);
    const { bytes } = next;
    return {
      part,
      kind,
      source,
      number: Number(groups['number'] ?? 0),
      hash: groups['hash'] ?? '',
      extension: extension ?? '',
      bytes,
    };
  }

  async #nextContent({ source, number, part }: Entry): Promise<Entry> {
    const content = await this.#parseNext();
    if (content?.extension !== 'bin' || content.source !== source || content.number !== number) {
      throw new ArchiveError(part, 'has no content after it');
    }
    return content;
  }

  /** Yields the content of a file. Throws at its end when it differs from its checksum or description. */
  async *#checked(entry: Entry, file: ArchivedFile): AsyncGenerator<Uint8Array> {
    const hash = createHash('sha256');
    for await (const bytes of this.#tar.content()) {
      hash.update(bytes);
      yield bytes;
    }
    const digest = hash.digest('hex');
    if (digest !== entry.hash || digest !== file.sha256 || entry.bytes !== file.bytes) throw damagedPart(entry);
  }

  async #readJson<T extends TSchema>(schema: T, entry: Entry): Promise<Static<T>> {
    if (entry.extension !== 'json') throw new ArchiveError(entry.part, 'has no description before it');
    return parsePart(schema, Buffer.from(await this.#readBytes(entry)).toString(), entry.part);
  }

  async #readBytes(entry: Entry): Promise<Uint8Array> {
    const bytes = Buffer.concat(await Array.fromAsync(this.#tar.content()));
    if (createHash('sha256').update(bytes).digest('hex') !== entry.hash) throw damagedPart(entry);
    return bytes;
  }
}

function checkFields(part: string, { metadata }: Pick<ArchivedPost, 'metadata'>): void {
  try {
    checkMetadata(metadata, 'metadata');
  } catch (error) {
    throw new ArchiveError(part, 'has metadata that are larger than 64 KiB', error);
  }
}

function damagedPart({ part, extension }: Entry): ArchiveError {
  const subject = extension === 'bin' ? `${part} (its content)` : part;
  return new ArchiveError(subject, 'is damaged: its SHA-256 is not the one in its name');
}

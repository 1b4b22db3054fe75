import type { Comparison, Wanted } from './compare-files.ts';
import type { StoredFile, StoredSource } from './stored-sources.ts';

/** The files that one data source may have. */
const FILES_PER_SOURCE = 10_000;

/** What becomes of one data source: it keeps files, loses those that are gone, and gets those that are wanted. */
export interface SourcePart {
  /** Null for one that is yet to be made. */
  source: StoredSource | null;
  unchanged: StoredFile[];
  gone: StoredFile[];
  wanted: Wanted[];
}

/** Gives every file its data source: what was there stays where it was, what is new goes where there is room. */
export function partSources(
  { wanted, unchanged, gone }: Comparison,
  sources: readonly StoredSource[],
  filesPerSource = FILES_PER_SOURCE,
): SourcePart[] {
  const parts = sources.map((source): SourcePart => {
    const ids = new Set(source.fileIds);
    return {
      source,
      unchanged: unchanged.filter(({ id }) => ids.has(id)),
      gone: gone.filter(({ id }) => ids.has(id)),
      wanted: wanted.filter(({ replaces }) => replaces !== null && ids.has(replaces.id)),
    };
  });
  const added = wanted.filter(({ replaces }) => replaces === null);
  for (const part of parts) {
    const room = Math.max(0, filesPerSource - part.unchanged.length - part.wanted.length);
    part.wanted.push(...added.splice(0, room));
  }
  while (added.length > 0) {
    parts.push({ source: null, unchanged: [], gone: [], wanted: added.splice(0, filesPerSource) });
  }
  return parts;
}

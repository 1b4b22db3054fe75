import type { FolderDiff, PendingUpload } from './diff-folder.ts';
import type { StoredFile, StoredSource } from './load-sources.ts';

/** Maximum number of files of one data source (limit of the API). */
const MAX_FILES_PER_SOURCE = 10_000;

/** Planned change of one data source. */
export interface SourcePlan {
  /** Null for a data source to create. */
  source: StoredSource | null;
  unchanged: StoredFile[];
  gone: StoredFile[];
  uploads: PendingUpload[];
}

/** Assigns files to data sources. Existing files keep theirs; new ones fill free capacity, then new data sources. */
export function planSources(
  { uploads, unchanged, gone }: FolderDiff,
  sources: readonly StoredSource[],
  filesPerSource = MAX_FILES_PER_SOURCE,
): SourcePlan[] {
  const plans = sources.map((source): SourcePlan => {
    const ids = new Set(source.fileIds);
    return {
      source,
      unchanged: unchanged.filter(({ id }) => ids.has(id)),
      gone: gone.filter(({ id }) => ids.has(id)),
      uploads: uploads.filter(({ replaces }) => replaces !== null && ids.has(replaces.id)),
    };
  });
  const added = uploads.filter(({ replaces }) => replaces === null);
  for (const plan of plans) {
    const capacity = Math.max(0, filesPerSource - plan.unchanged.length - plan.uploads.length);
    plan.uploads.push(...added.splice(0, capacity));
  }
  while (added.length > 0) {
    plans.push({ source: null, unchanged: [], gone: [], uploads: added.splice(0, filesPerSource) });
  }
  return plans;
}

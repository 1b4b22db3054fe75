import { parseNameSearch } from '../ui/name-search.ts';

/** Purposes of files, as the API names them. */
export const FILE_PURPOSES = ['knowledge-base', 'batch', 'fine-tune'] as const;

/** Reads the search parameters of the list of files. */
export function parseFileSearch(search: Record<string, unknown>): {
  q?: string;
  purpose?: (typeof FILE_PURPOSES)[number];
} {
  const purpose = FILE_PURPOSES.find((each) => each === search['purpose']);
  return { ...parseNameSearch(search), ...(purpose !== undefined && { purpose }) };
}

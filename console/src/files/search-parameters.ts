import { FILE_PURPOSES } from '../api/address-values.ts';
import { parseNameSearch } from '../ui/name-search.ts';

/** Reads the search parameters of the list of files. */
export function parseFileSearch(search: Record<string, unknown>): {
  q?: string;
  purpose?: (typeof FILE_PURPOSES)[number];
} {
  const purpose = FILE_PURPOSES.find((each) => each === search['purpose']);
  return { ...parseNameSearch(search), ...(purpose !== undefined && { purpose }) };
}

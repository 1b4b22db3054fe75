import { DOCUMENT_STATUSES } from '../api/address-values.ts';
import { parseNameSearch } from '../ui/name-search.ts';

/** The tabs of a knowledge base. */
export const KNOWLEDGE_BASE_TABS = ['documents', 'sources', 'jobs', 'search', 'evaluations'] as const;
/** A tab of the page. */
export type KnowledgeBaseTab = (typeof KNOWLEDGE_BASE_TABS)[number];

/** What the address of a knowledge base says: the tab, and the filters of its list of documents. */
export interface KnowledgeBaseSearch {
  tab?: KnowledgeBaseTab;
  status?: (typeof DOCUMENT_STATUSES)[number];
  source?: string;
  q?: string;
}

/** Reads the search parameters of a knowledge base. Unknown values are dropped. */
export function parseKnowledgeBaseSearch(search: Record<string, unknown>): KnowledgeBaseSearch {
  const tab = KNOWLEDGE_BASE_TABS.find((each) => each === search['tab']);
  const status = DOCUMENT_STATUSES.find((each) => each === search['status']);
  const { source } = search;
  return {
    ...(tab !== undefined && { tab }),
    ...(status !== undefined && { status }),
    ...(typeof source === 'string' && source !== '' && { source }),
    ...parseNameSearch(search),
  };
}

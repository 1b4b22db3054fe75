/** Longest search of the API. */
const MAX_NAME_CHARACTERS = 256;

/** The tabs of a knowledge base. */
export const KNOWLEDGE_BASE_TABS = ['documents', 'sources', 'jobs', 'search'] as const;
export type KnowledgeBaseTab = (typeof KNOWLEDGE_BASE_TABS)[number];

/** Statuses of documents, as the API names them. */
export const DOCUMENT_STATUSES = ['processing', 'completed', 'failed'] as const;
export type DocumentStatus = (typeof DOCUMENT_STATUSES)[number];

/** What the address of a knowledge base says: the tab, and the filters of its list of documents. */
export interface KnowledgeBaseSearch {
  tab?: KnowledgeBaseTab;
  status?: DocumentStatus;
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

/** Reads the text that a list is searched for. The router parses numbers. */
export function parseNameSearch({ q }: Record<string, unknown>): { q?: string } {
  return typeof q === 'string' || typeof q === 'number' ? { q: String(q).slice(0, MAX_NAME_CHARACTERS) } : {};
}

import { ID_PREFIXES } from '../lib/ids.ts';

/** Returns the id of the knowledge base that is the vector store. Other texts are returned unchanged. */
export const toKnowledgeBaseId = (id: string): string => swapPrefix(id, 'vectorStore', 'knowledgeBase');

/** Returns the id of the vector store that is the knowledge base. Other texts are returned unchanged. */
export const toVectorStoreId = (id: string): string => swapPrefix(id, 'knowledgeBase', 'vectorStore');

type Kind = 'vectorStore' | 'knowledgeBase';

function swapPrefix(id: string, from: Kind, to: Kind): string {
  return id.startsWith(ID_PREFIXES[from]) ? ID_PREFIXES[to] + id.slice(ID_PREFIXES[from].length) : id;
}

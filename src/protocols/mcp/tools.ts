import { collectChat } from '../../chat/collect-chat.ts';
import { parseChatCall } from '../../chat/parse-call.ts';
import { type ChatDeps, startChat } from '../../chat/start-chat.ts';
import type { Deps } from '../../deps.ts';
import { invalidValue } from '../../errors.ts';
import { requireScope } from '../../http/auth.ts';
import { gatherContext } from '../../knowledge-bases/grounding/gather-context.ts';
import { findKnowledgeBases } from '../../knowledge-bases/grounding/ground-prompt.ts';
import { linkToPassage } from '../../knowledge-bases/grounding/text-fragment.ts';
import { postDocument } from '../../knowledge-bases/ingestion/post-document.ts';
import { listKnowledgeBases } from '../../knowledge-bases/list-knowledge-bases.ts';
import { RETRIEVAL_DEFAULTS } from '../../knowledge-bases/retrieval/retrieve.ts';
import type { Call } from '../../lib/caller.ts';
import { documentKey, documentUrl } from './documents.ts';
import {
  type AddDocumentArguments,
  type AddDocumentResult,
  type AskArguments,
  type AskResult,
  type KnowledgeBasesResult,
  MAX_KNOWLEDGE_BASES,
  type SearchArguments,
  type SearchToolResult,
} from './schema.ts';

/** Dependencies of the tools. */
export type McpDeps = ChatDeps & Pick<Deps, 'jobs'>;

/** One call of a tool. */
export interface ToolContext {
  call: Call;
  /** Scheme and host of the service, as the client sees it. */
  origin: string;
  signal: AbortSignal;
  /** Tells a client that asked for it how far the call is. */
  report(progress: number, message: string): Promise<void>;
}

/** Tool `list_knowledge_bases`. */
export async function listBases(deps: Pick<ChatDeps, 'db'>, call: Call): Promise<KnowledgeBasesResult> {
  const { data } = await listKnowledgeBases(deps, call.caller.organizationId, { limit: MAX_KNOWLEDGE_BASES });
  return {
    knowledge_bases: data.map(({ id, name, description, document_count }) => ({
      id,
      name,
      description,
      document_count,
    })),
  };
}

/** Tool `search`: the best passages of several knowledge bases. */
export async function search(deps: ChatDeps, args: SearchArguments, tool: ToolContext): Promise<SearchToolResult> {
  const { call, origin, signal } = tool;
  const ids = await chooseBases(deps, args.knowledge_base_ids, call);
  const bases = await findKnowledgeBases(deps, call, ids, 'knowledge_base_ids');
  const { top_k = RETRIEVAL_DEFAULTS.top_k, query } = args;
  const chunks = await gatherContext(deps, call, bases, { ...RETRIEVAL_DEFAULTS, query, top_k, signal });
  return {
    results: chunks
      .slice(0, top_k)
      .map(({ knowledgeBaseId, documentId, documentName, text, score, page, sourceUri }) => {
        const address = { kb_id: knowledgeBaseId, document_id: documentId };
        const link = linkToPassage(sourceUri, page, text);
        return {
          id: documentKey(address),
          title: documentName,
          url: link ?? documentUrl(origin, sourceUri, address),
          text,
          score,
          page,
        };
      }),
  };
}

/** Tool `add_document`: stores a text under a key; searches find it when it is ingested. */
export async function addDocument(deps: McpDeps, args: AddDocumentArguments, call: Call): Promise<AddDocumentResult> {
  const { knowledge_base_id: kb_id, ...document } = args;
  const { id: document_id, status } = await postDocument(deps, call, kb_id, document);
  return { id: documentKey({ kb_id, document_id }), status };
}

/** Tool `ask`: an answer from the knowledge bases, with citations. A chat completion, metered as one. */
export async function ask(deps: ChatDeps, args: AskArguments, tool: ToolContext): Promise<AskResult> {
  const { call, origin, signal, report } = tool;
  requireScope(call.caller, 'inference');
  const chat = parseChatCall(deps, call, {
    model: args.model ?? defaultModel(deps, call),
    messages: [{ role: 'user', content: args.question }],
    knowledge_bases: await chooseBases(deps, args.knowledge_base_ids, call),
  });
  await report(0, 'Searching the documents');
  const run = await startChat(deps, chat, signal);
  // `collectChat` handles the rejection.
  run.started.then(
    () => report(1, 'Writing the answer'),
    () => {},
  );
  const { choices, model, moderation } = await collectChat(run);
  const { content, annotations = [] } = choices[0]?.message ?? {};
  const citations = annotations.flatMap((annotation) => {
    if (annotation.type !== 'file_citation') return [];
    const { kb_id, document_id, document_name: title, start_index, end_index } = annotation;
    const address = { kb_id, document_id };
    return [{ id: documentKey(address), title, url: documentUrl(origin, null, address), start_index, end_index }];
  });
  return { answer: content ?? '', model, citations, ...(moderation !== undefined && { moderation }) };
}

async function chooseBases(deps: ChatDeps, named: readonly string[] | undefined, call: Call): Promise<string[]> {
  const ids = named ?? (await listBases(deps, call)).knowledge_bases.map(({ id }) => id);
  if (ids.length === 0) throw invalidValue('knowledge_base_ids', 'has nothing to search: there is no knowledge base');
  return [...ids];
}

/** The first model that chats, is bound to an engine, and is allowed for the key. */
function defaultModel({ models }: ChatDeps, { caller }: Call): string {
  const usable = models
    .list()
    .filter(
      ({ id, engine, capabilities }) =>
        engine !== null && capabilities.chat_completion && (caller.models?.has(id) ?? true),
    );
  const [first] = usable;
  if (first === undefined) throw invalidValue('model', 'is required: no chat model is available to this key');
  return first.id;
}

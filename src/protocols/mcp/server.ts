import { fromJsonSchema, McpServer, ResourceTemplate } from '@modelcontextprotocol/server';
import type { Static, TObject } from 'typebox';
import { knownError } from '../../http/known-error.ts';
import { listDocuments } from '../../knowledge-bases/documents/list-documents.ts';
import { describeCause } from '../../lib/operator-error.ts';
import { documentKey, fetchDocument, parseDocumentKey } from './documents.ts';
import {
  AddDocumentArguments,
  AddDocumentResult,
  AskArguments,
  AskResult,
  FetchArguments,
  FetchResult,
  KnowledgeBasesResult,
  NoArguments,
  SearchArguments,
  SearchToolResult,
} from './schema.ts';
import { addDocument, ask, listBases, type McpDeps, search, type ToolContext } from './tools.ts';

/** Who calls, from where. */
export type McpCaller = Pick<ToolContext, 'call' | 'origin'>;

/** Key in `_meta` of a failed result. */
const ERROR_FIELD = 'quire/error';
const URI_PREFIX = 'quire://documents/';
/** Documents of each knowledge base in the list of resources; others are found by `search`. */
const LISTED_DOCUMENTS = 20;

const INSTRUCTIONS =
  'Documents of an organization. search finds passages, fetch reads a whole document, ask answers a question from the documents with citations.';

/** Properties of a tool. */
interface ToolFacts<Args> {
  description: string;
  args: Args;
  /** Whether it changes documents: clients then ask the user. */
  isWrite?: boolean;
}

/** Creates the server of one request: the caller's tools, and documents as resources. */
export function createMcpServer(deps: McpDeps, caller: McpCaller, version: string): McpServer {
  const server = new McpServer({ name: 'quire', title: 'Quire', version }, { instructions: INSTRUCTIONS });
  const add = toolAdder(server, deps, caller);
  const bases = { description: 'List the knowledge bases.', args: NoArguments };
  add('list_knowledge_bases', bases, KnowledgeBasesResult, (_args, { call }) => listBases(deps, call));
  const searches = { description: 'Search the documents for passages.', args: SearchArguments };
  add('search', searches, SearchToolResult, (args, tool) => search(deps, args, tool));
  const fetches = { description: 'Read the document of a search result.', args: FetchArguments };
  add('fetch', fetches, FetchResult, ({ id }, { call, origin }) =>
    fetchDocument(deps, call, origin, parseDocumentKey(id)),
  );
  const answers = { description: 'Answer a question from the documents, with citations.', args: AskArguments };
  add('ask', answers, AskResult, (args, tool) => ask(deps, args, tool));
  const adds = {
    description: 'Add a text to a knowledge base, or replace it.',
    args: AddDocumentArguments,
    isWrite: true,
  };
  add('add_document', adds, AddDocumentResult, (args, { call }) => addDocument(deps, args, call));
  addDocuments(server, deps, caller);
  return server;
}

type Run<Args, Result> = (args: Args, tool: ToolContext) => Promise<Result>;

/**
 * Returns a function that adds a tool. Results are structured, and repeated as JSON for clients that read text only.
 */
function toolAdder(server: McpServer, deps: Pick<McpDeps, 'logger'>, caller: McpCaller) {
  return <Args extends TObject, Result extends TObject>(
    name: string,
    { description, args, isWrite = false }: ToolFacts<Args>,
    result: Result,
    run: Run<Static<Args>, Static<Result>>,
  ): void => {
    const schemas = {
      inputSchema: fromJsonSchema<Static<Args>>(args as object),
      outputSchema: fromJsonSchema<Static<Result>>(result as object),
    };
    const annotations = { readOnlyHint: !isWrite, idempotentHint: true, openWorldHint: false };
    server.registerTool(name, { description, ...schemas, annotations }, async (input, context) => {
      const { signal, _meta, notify } = context.mcpReq;
      const token = _meta?.progressToken;
      const report = async (progress: number, message: string) => {
        if (token === undefined) return;
        await notify({ method: 'notifications/progress', params: { progressToken: token, progress, message } });
      };
      try {
        const structuredContent = await run(input, { ...caller, signal, report });
        return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
      } catch (error) {
        return failedResult(deps, caller, error);
      }
    });
  };
}

/**
 * Models read the message and can call again, so errors of tools are results, with the error of other routes beside the
 * message. Unexpected ones are logged.
 */
function failedResult({ logger }: Pick<McpDeps, 'logger'>, { call }: McpCaller, error: unknown) {
  const failure = knownError(error);
  if (failure.status >= 500)
    logger.error({ requestId: call.requestId, code: failure.code, cause: describeCause(failure) }, 'tool failed');
  const _meta = { [ERROR_FIELD]: { ...failure.body().error, status: failure.status } };
  return { content: [{ type: 'text' as const, text: failure.message }], isError: true, _meta };
}

/** Documents as resources: the newest ones are listed, all can be read. */
function addDocuments(server: McpServer, deps: McpDeps, { call, origin }: McpCaller): void {
  const { organizationId } = call.caller;
  const list = async () => {
    const { knowledge_bases: bases } = await listBases(deps, call);
    const pages = bases.map(({ id }) =>
      listDocuments(deps, organizationId, id, { limit: LISTED_DOCUMENTS, order: 'desc' }),
    );
    const documents = (await Promise.all(pages)).flatMap(({ data }) => data);
    return {
      resources: documents.map(({ id, knowledge_base_id: kb_id, name, mime_type: mimeType }) => ({
        uri: URI_PREFIX + documentKey({ kb_id, document_id: id }),
        name,
        mimeType: 'text/plain',
        description: `Text of a document (${mimeType})`,
      })),
    };
  };
  const template = new ResourceTemplate(`${URI_PREFIX}{kb_id}/{document_id}`, { list });
  const metadata = { title: 'Documents', mimeType: 'text/plain' };
  server.registerResource('document', template, metadata, async (uri) => {
    const { text } = await fetchDocument(deps, call, origin, parseDocumentKey(uri.href.slice(URI_PREFIX.length)));
    return { contents: [{ uri: uri.href, mimeType: 'text/plain', text }] };
  });
}

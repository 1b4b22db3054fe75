import type { FunctionTool, ToolChoice } from '../engines/engine.ts';
import { invalidValue, missingField } from '../errors.ts';
import type { SearchType } from '../knowledge-bases/retrieval/schema.ts';
import { toKnowledgeBaseId } from '../knowledge-bases/vector-store-id.ts';
import type { RegisteredServer } from '../mcp-servers/find-registered.ts';
import type { Condition } from '../search/filter.ts';
import { mcpFunctionName } from './mcp-function-name.ts';
import { parseAttributeFilter } from './parse-attribute-filter.ts';
import { type McpServerTool, parseMcpServerTool } from './parse-mcp-tool.ts';
import type { CreateResponse, RequestTool, ResolvedTool } from './schema.ts';
import { FILE_SEARCH, QUERY_TABLE } from './turn-loop.ts';

/** A `file_search` tool with its defaults. */
export interface SearchTool {
  /** Paths of its fields in the request, such as `tools.0.file_search.knowledge_base_ids`. */
  paths: { ids: string; rerankModel: string };
  knowledgeBaseIds: readonly string[];
  maxResults: number;
  searchType: SearchType;
  scoreThreshold: number;
  rerank: boolean;
  rerankModel: string | null;
  /** Conditions on the metadata of documents. */
  conditions: readonly Condition[];
  /** Whether `query_table` is offered beside it. */
  queriesTables: boolean;
}

/** The tools of a request. */
export interface ParsedTools {
  functions: FunctionTool[];
  /** Path of each function in the request. */
  functionPaths: string[];
  search: SearchTool | null;
  mcpServers: McpServerTool[];
  toolChoice: ToolChoice;
  /** Label of the MCP server whose tool must be called; null: any tool. */
  chosenServer: string | null;
  /** The tools as the response shows them. */
  resolved: ResolvedTool[];
}

/**
 * Parses `tools` and `tool_choice`. `registered`: the MCP servers that tools name instead of an address, by the
 * position of the tool. Throws 400 with the dotted path.
 */
export function parseTools(
  request: Pick<CreateResponse, 'tools' | 'tool_choice'>,
  registered: ReadonlyMap<number, RegisteredServer> = new Map(),
): ParsedTools {
  const functions: FunctionTool[] = [];
  const functionPaths: string[] = [];
  const resolved: ResolvedTool[] = [];
  let search: SearchTool | null = null;
  const mcpServers: McpServerTool[] = [];
  const tablePaths: string[] = [];
  for (const [index, tool] of (request.tools ?? []).entries()) {
    const path = `tools.${index}`;
    if (tool.type === 'file_search') {
      if (search !== null) throw invalidValue(path, 'is a second file_search; name all knowledge bases in one');
      const parsed = tool.vector_store_ids === undefined ? parseSearch(tool, path) : parseFlatSearch(tool, path);
      search = parsed.search;
      resolved.push(parsed.resolved);
    } else if (tool.type === 'query_table') {
      tablePaths.push(path);
      resolved.push({ type: 'query_table' });
    } else if (tool.type === 'mcp') {
      const server = parseMcpServerTool(tool, path, registered.get(index) ?? null);
      if (mcpServers.some(({ label }) => label === server.label))
        throw invalidValue(`${path}.server_label`, 'is already the label of another server');
      if (mcpServers.length === MAX_SERVERS)
        throw invalidValue(path, `exceeds the limit of ${MAX_SERVERS} MCP servers`);
      mcpServers.push(server);
      resolved.push({ ...server.resolved, ...parseCallRules(tool, path) });
    } else {
      const parsed = parseFunction(tool, path);
      const { name } = parsed.function;
      if (functions.some((other) => other.function.name === name)) {
        throw invalidValue(`${functionPath(tool, path)}.name`, 'is already the name of another tool');
      }
      functions.push(parsed);
      functionPaths.push(functionPath(tool, path));
      resolved.push(showFunction(parsed, tool, path));
    }
  }
  const [tablePath, secondPath] = tablePaths;
  if (secondPath !== undefined) throw invalidValue(secondPath, 'is a second query_table');
  if (tablePath !== undefined) {
    if (search === null) throw invalidValue(tablePath, 'needs a file_search, whose knowledge bases it reads');
    search = { ...search, queriesTables: true };
  }
  const names = [...(search === null ? [] : [FILE_SEARCH]), ...(tablePath === undefined ? [] : [QUERY_TABLE])];
  const clash = functions.findIndex(({ function: { name } }) => names.includes(name));
  if (clash !== -1)
    throw invalidValue(
      `${functionPaths[clash]}.name`,
      `must not be '${functions[clash]?.function.name}' beside that tool`,
    );
  const choice = parseToolChoice(request.tool_choice, { functions, search, mcpServers });
  return { ...choice, functionPaths, resolved };
}

function functionPath(tool: RequestTool, path: string): string {
  return tool.function === undefined ? path : `${path}.function`;
}

/** Accepts the nested form of chat completions and OpenAI's flat form. */
function parseFunction(tool: RequestTool, path: string): FunctionTool {
  const { name, description, parameters, strict } = tool.function ?? tool;
  if (name === undefined) throw missingField(`${functionPath(tool, path)}.name`);
  return {
    type: 'function',
    function: {
      name,
      ...(description != null && { description }),
      ...(parameters != null && { parameters }),
      ...(strict != null && { strict }),
    },
  };
}

/** Returns the rules that the response repeats. Throws 400 for a tool that only programs may call. */
function parseCallRules({ defer_loading, allowed_callers }: RequestTool, path: string) {
  if (allowed_callers?.includes('direct') === false)
    throw invalidValue(`${path}.allowed_callers`, "must contain 'direct': there are no programs that call tools");
  return {
    ...(defer_loading !== undefined && { defer_loading }),
    ...(allowed_callers !== undefined && { allowed_callers }),
  };
}

/** A function as the response shows it. */
function showFunction({ function: shown }: FunctionTool, tool: RequestTool, path: string): ResolvedTool {
  const { name, description = null, parameters = null, strict = null } = shown;
  return {
    ...{ type: 'function', name, description, parameters, strict },
    ...(tool.output_schema !== undefined && { output_schema: tool.output_schema }),
    ...parseCallRules(tool, path),
  };
}

/** A search as the loop runs it and as the response shows it. */
interface ParsedSearch {
  search: SearchTool;
  resolved: ResolvedTool;
}

/** MCP servers of a request: each is a connection. */
export const MAX_SERVERS = 16;
const DEFAULT_RESULTS = 10;

function parseSearch(tool: RequestTool, path: string): ParsedSearch {
  const settings = tool.file_search;
  if (settings === undefined) throw missingField(`${path}.file_search`);
  const shown = {
    knowledge_base_ids: settings.knowledge_base_ids,
    max_results: settings.max_results ?? DEFAULT_RESULTS,
    search_type: settings.search_type ?? 'hybrid',
    score_threshold: settings.score_threshold ?? 0,
    rerank: settings.rerank ?? false,
    rerank_model: settings.rerank_model ?? null,
  };
  return {
    search: {
      paths: { ids: `${path}.file_search.knowledge_base_ids`, rerankModel: `${path}.file_search.rerank_model` },
      knowledgeBaseIds: shown.knowledge_base_ids.map(toKnowledgeBaseId),
      maxResults: shown.max_results,
      searchType: shown.search_type,
      scoreThreshold: shown.score_threshold,
      rerank: shown.rerank,
      rerankModel: shown.rerank_model,
      conditions: [],
      queriesTables: false,
    },
    resolved: { type: 'file_search', file_search: shown },
  };
}

/** OpenAI's form. A vector store is a knowledge base, and its id differs in the prefix only. */
function parseFlatSearch(tool: RequestTool, path: string): ParsedSearch {
  if (tool.file_search !== undefined)
    throw invalidValue(`${path}.vector_store_ids`, "cannot be combined with 'file_search'");
  const { vector_store_ids: ids = [], max_num_results: maxResults, ranking_options: ranking, filters } = tool;
  const shown = {
    vector_store_ids: ids,
    max_num_results: maxResults ?? DEFAULT_RESULTS,
    ranking_options: {
      ranker: ranking?.ranker ?? 'auto',
      score_threshold: ranking?.score_threshold ?? 0,
      ...(ranking?.hybrid_search !== undefined && { hybrid_search: ranking.hybrid_search }),
    },
    filters: filters ?? null,
  };
  return {
    search: {
      paths: { ids: `${path}.vector_store_ids`, rerankModel: path },
      knowledgeBaseIds: ids.map(toKnowledgeBaseId),
      maxResults: shown.max_num_results,
      searchType: 'hybrid',
      scoreThreshold: shown.ranking_options.score_threshold,
      rerank: false,
      rerankModel: null,
      conditions: filters == null ? [] : parseAttributeFilter(filters, `${path}.filters`),
      queriesTables: false,
    },
    resolved: { type: 'file_search', ...shown },
  };
}

type Offered = Pick<ParsedTools, 'functions' | 'search' | 'mcpServers'>;
type NamedChoice = { type: string; server_label?: string; name?: string; function?: { name: string } };

function parseToolChoice(
  requested: CreateResponse['tool_choice'],
  offered: Offered,
): Offered & Pick<ParsedTools, 'toolChoice' | 'chosenServer'> {
  const choice = requested ?? 'auto';
  const isEmpty = offered.functions.length + offered.mcpServers.length === 0 && offered.search === null;
  const anyServer = { chosenServer: null };
  if (choice === 'auto' || choice === 'none')
    return { ...offered, ...anyServer, toolChoice: isEmpty ? 'none' : choice };
  if (isEmpty) throw invalidValue('tool_choice', "needs 'tools' to choose from");
  if (choice === 'required') return { ...offered, ...anyServer, toolChoice: choice };
  if (choice.type === 'allowed_tools') {
    if (choice.tools === undefined) throw missingField('tool_choice.tools');
    const names = choice.tools.map((tool, index) => requireTool(tool, `tool_choice.tools.${index}`, offered));
    const servers = choice.tools.filter(({ type }) => type === 'mcp');
    return {
      functions: offered.functions.filter((tool) => names.includes(tool.function.name)),
      search: names.includes(FILE_SEARCH) ? offered.search : null,
      mcpServers: offered.mcpServers.flatMap((server) => restrictServer(server, servers)),
      ...anyServer,
      toolChoice: choice.mode ?? 'auto',
    };
  }
  const name = requireTool(choice, 'tool_choice', offered);
  const chosenServer = choice.type === 'mcp' ? (choice.server_label ?? null) : null;
  if (chosenServer !== null && choice.name === undefined) return { ...offered, chosenServer, toolChoice: 'required' };
  return { ...offered, ...anyServer, toolChoice: { name } };
}

/** The server with the tools that `allowed_tools` of the tool choice names; without a name, all of them. */
function restrictServer(server: McpServerTool, choices: readonly NamedChoice[]): McpServerTool[] {
  const named = choices.filter(({ server_label: label }) => label === server.label);
  if (named.length === 0) return [];
  if (named.some(({ name }) => name === undefined)) return [server];
  return [{ ...server, choosable: named.flatMap(({ name }) => name ?? []) }];
}

/** Returns the name of a tool of the request. */
function requireTool(named: NamedChoice, path: string, { functions, search, mcpServers }: Offered): string {
  if (named.type === 'mcp') {
    const { server_label: label, name = '' } = named;
    if (label === undefined) throw missingField(`${path}.server_label`);
    if (!mcpServers.some((server) => server.label === label))
      throw invalidValue(`${path}.server_label`, "must be the label of one of 'tools'");
    return mcpFunctionName(label, name);
  }
  if (named.type === 'file_search') {
    if (search === null) throw invalidValue(`${path}.type`, "must be the type of one of 'tools'");
    return FILE_SEARCH;
  }
  const at = named.function === undefined ? `${path}.name` : `${path}.function.name`;
  const name = named.function?.name ?? named.name;
  if (name === undefined) throw missingField(at);
  if (!functions.some((tool) => tool.function.name === name)) {
    throw invalidValue(at, "must be the name of one of 'tools'");
  }
  return name;
}

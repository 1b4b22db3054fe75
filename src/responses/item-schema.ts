import { type Static, Type } from 'typebox';
import { Nullable } from '../http/schema-types.ts';
import { CACHE_NEEDS_NONE } from '../inference/parameters.ts';
import { CITED_CHUNK_FIELDS, fileCitation, LaterPlaces, LineBoxes, Link } from '../knowledge-bases/grounding/schema.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { McpCallError } from '../mcp-servers/mcp-error.ts';
import { McpTool } from '../mcp-servers/mcp-tool.ts';

/** `incomplete`: the item is still being generated, or was interrupted. */
const ItemStatus = Type.Enum(['completed', 'incomplete']);

/** A citation of a search result by a span of an answer. Offsets are UTF-16 code units. */
export const ResponseAnnotation = Type.Union([
  fileCitation(
    Type.String({ description: 'Id of the uploaded file; of the document, when it comes from another source.' }),
  ),
  Type.Object({ type: Type.Literal('url_citation'), ...Link.properties }),
]);

export type ResponseAnnotation = Static<typeof ResponseAnnotation>;

const Logprob = {
  token: Type.String(),
  logprob: Type.Number(),
  bytes: Type.Array(Type.Integer(), { description: 'Empty where the server does not tell.' }),
};

/** Log probability of a token, with the most likely alternatives. */
export const TokenLogprobs = Type.Object({ ...Logprob, top_logprobs: Type.Array(Type.Object(Logprob)) });

export type TokenLogprobs = Static<typeof TokenLogprobs>;

/** Whether a message precedes calls of the same turn, or is the answer. */
export const MessagePhase = Type.Enum(['commentary', 'final_answer'], { type: 'string' });

export type MessagePhase = Static<typeof MessagePhase>;

/** What called a function. */
const Caller = Type.Object({
  type: Type.Enum(['direct', 'program'], { type: 'string' }),
  caller_id: Type.Optional(Type.String({ maxLength: 64 })),
});

/** Fields of a function call and of its result that are stored and returned, and that models do not read. */
export const CALL_ORIGIN = {
  caller: Type.Optional(Caller),
  namespace: Type.Optional(Type.String({ maxLength: 64 })),
};

/** Where a call of a request came from. */
export type CallOrigin = Static<ReturnType<typeof Type.Object<typeof CALL_ORIGIN>>>;

/** A message of the model. */
export const MessageItem = Type.Object({
  type: Type.Literal('message'),
  id: Type.String({ description: '`msg_...`' }),
  role: Type.Literal('assistant'),
  status: ItemStatus,
  phase: Type.Optional(MessagePhase),
  content: Type.Array(
    Type.Object({
      type: Type.Literal('output_text'),
      text: Type.String(),
      annotations: Type.Array(ResponseAnnotation),
      logprobs: Type.Optional(
        Type.Array(TokenLogprobs, {
          description: 'With `top_logprobs` or `include`: those of the tokens of the text.',
        }),
      ),
    }),
  ),
});

export type MessageItem = Static<typeof MessageItem>;

/** A passage that a search found and the model has read. */
export const SearchResult = Type.Object({
  ...CITED_CHUNK_FIELDS,
  later_places: Type.Optional(LaterPlaces),
  line_boxes: Type.Optional(LineBoxes),
  text: Type.String(),
  is_verbatim: Type.Optional(
    Type.Boolean({
      description:
        "Whether `text` is the document's text between the offsets. `false` where invisible characters or sentences were left out, or the text was computed.",
    }),
  ),
  score: Type.Number({ minimum: 0, maximum: 1 }),
  modified_at: Type.Optional(
    Type.Integer({
      description:
        'Unix seconds of the last change of the document, where the model selects the answer from the results.',
    }),
  ),
  file_id: Type.String({ description: 'As in a `file_citation`.' }),
  filename: Type.String(),
  attributes: Type.Record(Type.String(), Type.String(), {
    description:
      '`source_type`, `source_uri` when known, and `computed` where the text was computed over the rows of a table.',
  }),
});

export type SearchResult = Static<typeof SearchResult>;

/** A search of knowledge bases, which the service has executed. */
export const FileSearchItem = Type.Object({
  type: Type.Literal('file_search_call'),
  id: Type.String({ description: '`fs_...`' }),
  status: ItemStatus,
  queries: Type.Array(Type.String()),
  results: Type.Array(SearchResult),
  tool: Type.Optional(
    Type.Literal('query_table', { description: 'Of a query over a table, whose arguments are in `queries`.' }),
  ),
  message: Type.Optional(Type.String({ description: 'Why a query over a table has no results.' })),
});

export type FileSearchItem = Static<typeof FileSearchItem>;

/** A call of a function, which the client executes. */
export const FunctionCallItem = Type.Object({
  type: Type.Literal('function_call'),
  id: Type.String({ description: '`fc_...`' }),
  call_id: Type.String({ description: 'Id that the `function_call_output` names.' }),
  name: Type.String(),
  arguments: Type.String({ description: 'JSON text.' }),
  status: ItemStatus,
});

export type FunctionCallItem = Static<typeof FunctionCallItem>;

/** Reasoning of the model before its answer. */
export const ReasoningItem = Type.Object({
  type: Type.Literal('reasoning'),
  id: Type.String({ description: '`rs_...`' }),
  status: ItemStatus,
  summary: Type.Array(Type.Object({ type: Type.Literal('summary_text'), text: Type.String() })),
  content: Type.Array(Type.Object({ type: Type.Literal('reasoning_text'), text: Type.String() })),
  encrypted_content: Type.Null(),
});

export type ReasoningItem = Static<typeof ReasoningItem>;

/** The tools of an MCP server, which the service has listed. */
export const McpListToolsItem = Type.Object({
  type: Type.Literal('mcp_list_tools'),
  id: Type.String({ description: '`mcpl_...`' }),
  server_label: Type.String(),
  tools: Type.Array(McpTool),
  error: Nullable(Type.String({ description: 'Why the tools could not be listed.' })),
});

export type McpListToolsItem = Static<typeof McpListToolsItem>;

const McpCallFields = { server_label: Type.String(), name: Type.String(), arguments: Type.String() };

/** A call of a tool of an MCP server, which the service has made. */
export const McpCallItem = Type.Object({
  type: Type.Literal('mcp_call'),
  id: Type.String({ description: '`mcp_...`' }),
  status: Type.Enum(['in_progress', 'completed', 'incomplete', 'failed']),
  ...McpCallFields,
  output: Nullable(Type.String()),
  error: Nullable(McpCallError),
  approval_request_id: Nullable(Type.String()),
});

export type McpCallItem = Static<typeof McpCallItem>;

/** A call of a tool of an MCP server that waits for an approval. */
export const McpApprovalRequestItem = Type.Object({
  type: Type.Literal('mcp_approval_request'),
  id: Type.String({ description: '`mcpr_...`' }),
  ...McpCallFields,
});

export type McpApprovalRequestItem = Static<typeof McpApprovalRequestItem>;

/** An item of `output`. */
export const OutputItem = Type.Union([
  MessageItem,
  FileSearchItem,
  FunctionCallItem,
  ReasoningItem,
  McpListToolsItem,
  McpCallItem,
  McpApprovalRequestItem,
]);

export type OutputItem = Static<typeof OutputItem>;

const Text = Nullable(Type.String());

/** A part of a message or of a result; `parseInput` accepts texts, refusals, text files and images of users. */
const InputPart = Type.Object({
  type: Type.String(),
  text: Type.Optional(Type.String()),
  refusal: Type.Optional(Type.String()),
  image_url: Type.Optional(
    Nullable(
      Type.String({
        description:
          'Of an `input_image`, for models with the capability `vision`: a data URL in base64, or an address of a public host.',
      }),
    ),
  ),
  detail: Type.Optional(Text),
  filename: Type.Optional(Text),
  file_data: Type.Optional(
    Nullable(
      Type.String({
        description: 'Of an `input_file`: a text file as data URL in base64. Models read its name and text.',
      }),
    ),
  ),
  prompt_cache_breakpoint: Type.Optional(Type.Unknown({ description: CACHE_NEEDS_NONE })),
  annotations: Type.Optional(Type.Unknown({ description: 'Of an `output_text`: ignored.' })),
  logprobs: Type.Optional(Type.Unknown({ description: 'Of an `output_text`: ignored.' })),
});

export type InputPart = Static<typeof InputPart>;

/** A tool of an `mcp_list_tools`; `parseMcpTool` leaves out the ones that it cannot use. */
const ListedTool = Type.Object({
  name: Type.Optional(Type.String()),
  description: Type.Optional(Text),
  input_schema: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  annotations: Type.Optional(Nullable(Type.Record(Type.String(), Type.Unknown()))),
});

/** Fields of a passage that are stored and returned, and that models do not read. */
export const PASSAGE_ORIGIN = {
  file_id: Type.Optional(Type.String()),
  score: Type.Optional(Type.Number()),
  attributes: Type.Optional(
    Type.Record(Type.String(), Type.Union([Type.String({ maxLength: 512 }), Type.Number(), Type.Boolean()])),
  ),
};

export type PassageOrigin = Static<ReturnType<typeof Type.Object<typeof PASSAGE_ORIGIN>>>;

/**
 * An item of `input`: a chat message (`role`, `content`) or an item with a `type`. One object instead of a union, so
 * that an error names the field; `parseInput` requires the fields of each type.
 */
export const InputItem = Type.Object(
  {
    type: Type.Optional(
      Nullable(
        Type.Enum([
          'message',
          'file_search_call',
          'function_call',
          'function_call_output',
          'reasoning',
          'compaction',
          'item_reference',
          'mcp_list_tools',
          'mcp_call',
          'mcp_approval_request',
          'mcp_approval_response',
        ]),
      ),
    ),
    id: Type.Optional(Text),
    status: Type.Optional(Text),
    role: Type.Optional(Type.Enum(['system', 'developer', 'user', 'assistant', 'tool'])),
    content: Type.Optional(
      Type.Union([Type.String(), Type.Array(InputPart), Type.Null()], {
        description: 'A string, parts, or null beside `tool_calls`.',
      }),
    ),
    phase: Type.Optional(MessagePhase),
    name: Type.Optional(Text),
    tool_calls: Type.Optional(
      Nullable(
        Type.Array(
          Type.Object({
            id: Type.String(),
            type: Type.Optional(Type.Literal('function')),
            function: Type.Object({ name: Type.String({ minLength: 1 }), arguments: Type.String() }),
          }),
        ),
      ),
    ),
    tool_call_id: Type.Optional(Text),
    call_id: Type.Optional(Text),
    ...CALL_ORIGIN,
    arguments: Type.Optional(Text),
    output: Type.Optional(
      Type.Union([Type.String(), Type.Array(InputPart), Type.Null()], {
        description: 'Result of a function: a string or text parts. Result of an `mcp_call`: a string.',
      }),
    ),
    encrypted_content: Type.Optional(Nullable(Type.String({ description: 'Content of a `compaction`.' }))),
    server_label: Type.Optional(Text),
    tools: Type.Optional(Nullable(Type.Array(ListedTool, { maxItems: 128 }))),
    error: Type.Optional(Type.Unknown({ description: 'Error of an `mcp_call` or of `mcp_list_tools`.' })),
    approval_request_id: Type.Optional(Text),
    approve: Type.Optional(Type.Boolean({ description: 'Of an `mcp_approval_response`.' })),
    reason: Type.Optional(Nullable(Type.String({ description: 'Why a call was not approved; models read it.' }))),
    queries: Type.Optional(Type.Array(Type.String())),
    summary: Type.Optional(Type.Unknown({ description: 'Of `reasoning`, which models do not read again: ignored.' })),
    results: Type.Optional(
      Nullable(
        Type.Array(
          Type.Object({
            text: Type.Optional(Type.String()),
            filename: Type.Optional(Type.String({ description: 'Models read it with the text.' })),
            document_name: Type.Optional(Type.String({ description: 'The same; `filename` if absent.' })),
            ...PASSAGE_ORIGIN,
          }),
        ),
      ),
    ),
  },
  {
    description:
      'A chat message, or an item: `message`, `file_search_call`, `function_call`, `function_call_output`, `reasoning` (not read), `compaction`, `item_reference`, `mcp_list_tools`, `mcp_call`, `mcp_approval_request`, `mcp_approval_response`.',
  },
);

export type InputItem = Static<typeof InputItem>;

titleSchemas({
  ResponseAnnotation,
  TokenLogprobs,
  MessageItem,
  SearchResult,
  FileSearchItem,
  FunctionCallItem,
  ReasoningItem,
  McpListToolsItem,
  McpCallItem,
  McpApprovalRequestItem,
  OutputItem,
  InputItem,
});

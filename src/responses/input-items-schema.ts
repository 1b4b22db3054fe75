import { type Static, Type } from 'typebox';
import { ListQuery, listSchema } from '../db/page.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { McpTool } from '../mcp-servers/mcp-tool.ts';
import { FunctionCallItem, McpApprovalRequestItem, McpCallItem, ResponseAnnotation } from './item-schema.ts';

const Completed = Type.Literal('completed');

const InputTextPart = Type.Object({ type: Type.Literal('input_text'), text: Type.String() });
const InputImagePart = Type.Object({
  type: Type.Literal('input_image'),
  image_url: Type.String(),
  detail: Type.String(),
});
const OutputTextPart = Type.Object({
  type: Type.Literal('output_text'),
  text: Type.String(),
  annotations: Type.Array(ResponseAnnotation, { description: 'Empty: a conversation keeps the text only.' }),
});

/** The summary of a conversation, for `input` of later requests. */
export const CompactionItem = Type.Object({
  type: Type.Literal('compaction'),
  id: Type.String({ description: '`cmp_...`' }),
  encrypted_content: Type.String({ description: 'Only this service can read it, for the same organization.' }),
});

/** An item that a response has answered. */
export const ResponseInputItem = Type.Union([
  Type.Object({
    type: Type.Literal('message'),
    id: Type.String(),
    role: Type.Enum(['system', 'user', 'assistant'], { type: 'string' }),
    status: Completed,
    content: Type.Array(Type.Union([InputTextPart, InputImagePart, OutputTextPart])),
  }),
  FunctionCallItem,
  CompactionItem,
  Type.Object({
    type: Type.Literal('function_call_output'),
    id: Type.String(),
    call_id: Type.String(),
    output: Type.String(),
    status: Completed,
  }),
  Type.Object({
    type: Type.Literal('file_search_call'),
    id: Type.String(),
    status: Completed,
    queries: Type.Array(Type.String()),
    results: Type.Array(Type.Object({ filename: Type.String(), text: Type.String() })),
  }),
  Type.Object({
    type: Type.Literal('mcp_list_tools'),
    id: Type.String(),
    server_label: Type.String(),
    tools: Type.Array(McpTool),
  }),
  Type.Object({
    ...Type.Omit(McpCallItem, ['status', 'error']).properties,
    error: Type.Union([Type.String(), Type.Null()]),
  }),
  McpApprovalRequestItem,
  Type.Object({
    type: Type.Literal('mcp_approval_response'),
    id: Type.String(),
    approval_request_id: Type.String(),
    approve: Type.Boolean(),
    reason: Type.Union([Type.String(), Type.Null()]),
  }),
]);

export type ResponseInputItem = Static<typeof ResponseInputItem>;

titleSchemas({ CompactionItem, ResponseInputItem });

/** Response of `GET /v1/responses/{response_id}/input_items`. */
export const ResponseInputItemList = Type.Object({
  ...listSchema(Type.Object({})).properties,
  data: Type.Array(ResponseInputItem),
});

titleSchemas({ ResponseInputItemList });

/** Query of `GET /v1/responses/{response_id}/input_items`. */
export const InputItemsQuery = Type.Object({
  ...ListQuery.properties,
  order: Type.Optional(
    Type.Enum(['asc', 'desc'], { type: 'string', default: 'desc', description: '`desc`: the last item first.' }),
  ),
});

export type InputItemsQuery = Static<typeof InputItemsQuery>;

import { type Static, Type } from 'typebox';
import { ListQuery, listSchema } from '../db/page.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { McpTool } from '../mcp-servers/mcp-tool.ts';
import {
  CALL_ORIGIN,
  FunctionCallItem,
  McpApprovalRequestItem,
  McpCallItem,
  MessagePhase,
  PASSAGE_ORIGIN,
  ResponseAnnotation,
  TokenLogprobs,
} from './item-schema.ts';

const Completed = Type.Literal('completed');

const InputTextPart = Type.Object({ type: Type.Literal('input_text'), text: Type.String() });
/** Values of `detail` in OpenAI's API. */
export const ImageDetail = Type.Enum(['auto', 'low', 'high', 'original'], {
  type: 'string',
  description: '`auto` where the request had another value.',
});

const InputImagePart = Type.Object({
  type: Type.Literal('input_image'),
  image_url: Type.String(),
  file_id: Type.Null({ description: 'Images are addresses or data.' }),
  detail: ImageDetail,
});
const OutputTextPart = Type.Object({
  type: Type.Literal('output_text'),
  text: Type.String(),
  annotations: Type.Array(ResponseAnnotation, { description: 'Empty: a conversation keeps the text only.' }),
  logprobs: Type.Array(TokenLogprobs, { description: 'Empty, as `annotations`.' }),
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
    phase: Type.Optional(MessagePhase),
    content: Type.Array(Type.Union([InputTextPart, InputImagePart, OutputTextPart])),
  }),
  Type.Object({ ...FunctionCallItem.properties, ...CALL_ORIGIN }),
  CompactionItem,
  Type.Object({
    type: Type.Literal('function_call_output'),
    id: Type.String(),
    call_id: Type.String(),
    output: Type.String(),
    status: Completed,
    ...CALL_ORIGIN,
  }),
  Type.Object({
    type: Type.Literal('file_search_call'),
    id: Type.String(),
    status: Completed,
    queries: Type.Array(Type.String()),
    results: Type.Array(Type.Object({ filename: Type.String(), text: Type.String(), ...PASSAGE_ORIGIN })),
  }),
  Type.Object({
    type: Type.Literal('mcp_list_tools'),
    id: Type.String(),
    server_label: Type.String(),
    tools: Type.Array(McpTool),
  }),
  Type.Omit(McpCallItem, ['status']),
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

/** Query parameter of objects that have all of their properties in every answer. */
export const IgnoredInclude = Type.Optional(
  Type.Unknown({ description: 'Ignored: everything that an object can have is included.' }),
);

/** Query of `GET /v1/responses/{response_id}/input_items`. */
export const InputItemsQuery = Type.Object({
  ...ListQuery.properties,
  include: IgnoredInclude,
  order: Type.Optional(
    Type.Enum(['asc', 'desc'], { type: 'string', default: 'desc', description: '`desc`: the last item first.' }),
  ),
});

export type InputItemsQuery = Static<typeof InputItemsQuery>;

import { type Static, Type } from 'typebox';
import { titleSchemas } from '../lib/title-schemas.ts';
import { OutputItem, TokenLogprobs } from './item-schema.ts';
import { ResponseResource } from './schema.ts';

const common = { sequence_number: Type.Integer({ description: 'Counts the events of a response from 0.' }) };
const item = { ...common, output_index: Type.Integer({ description: 'Position of the item in `output`.' }) };
const text = { ...item, item_id: Type.String(), content_index: Type.Integer() };
const logprobs = Type.Optional(Type.Array(TokenLogprobs));

/** An event of a streamed response. */
export const ResponseEvent = Type.Union([
  Type.Object({
    type: Type.Enum(['response.created', 'response.completed', 'response.incomplete', 'response.failed']),
    ...common,
    response: ResponseResource,
  }),
  Type.Object({
    type: Type.Enum(['response.output_item.added', 'response.output_item.done']),
    ...item,
    item: OutputItem,
  }),
  Type.Object({
    type: Type.Enum([
      'response.mcp_list_tools.in_progress',
      'response.mcp_list_tools.completed',
      'response.mcp_list_tools.failed',
      'response.mcp_call.in_progress',
      'response.mcp_call.completed',
      'response.mcp_call.failed',
    ]),
    ...item,
    item_id: Type.String(),
  }),
  Type.Object({
    type: Type.Literal('response.mcp_call_arguments.delta'),
    ...item,
    item_id: Type.String(),
    delta: Type.String(),
  }),
  Type.Object({
    type: Type.Literal('response.mcp_call_arguments.done'),
    ...item,
    item_id: Type.String(),
    arguments: Type.String(),
  }),
  Type.Object({ type: Type.Literal('response.output_text.delta'), ...text, delta: Type.String(), logprobs }),
  Type.Object({ type: Type.Literal('response.output_text.done'), ...text, text: Type.String(), logprobs }),
]);

export type ResponseEvent = Static<typeof ResponseEvent>;

titleSchemas({ ResponseEvent });

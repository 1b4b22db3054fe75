import { type Static, Type } from 'typebox';
import { deletedSchema } from '../db/page.ts';
import { Nullable, StorableText, UnixSeconds } from '../http/schema-types.ts';
import { ReasoningEffort } from '../inference/parameters.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { MAX_SERVERS } from '../responses/parse-tools.ts';
import { CreateResponse } from '../responses/schema.ts';

const { temperature } = CreateResponse.properties;

/** Generation parameters of a preset. */
export const ChatPresetParameters = Type.Object(
  {
    temperature,
    // No default: the validator would fill it in, and it would be stored.
    top_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: '0 is greedy.' })),
    max_output_tokens: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
    reasoning_effort: Type.Optional(ReasoningEffort),
  },
  {
    additionalProperties: false,
    description: 'Same as in `POST /v1/responses`. Absent parameters have their defaults.',
  },
);

export type ChatPresetParameters = Static<typeof ChatPresetParameters>;

/** An MCP server of a preset. */
export const ChatPresetTool = Type.Object(
  {
    type: Type.Literal('mcp'),
    server_id: Type.String({ description: 'Id of a registered MCP server.' }),
    allowed_tools: Type.Optional(
      Nullable(
        Type.Array(Type.String({ maxLength: 256 }), {
          maxItems: 100,
          description: 'Names of tools. Default: all tools of the server.',
        }),
      ),
    ),
  },
  { description: 'Chats have no approvals: these tools are called without approval, even if the server requires it.' },
);

export type ChatPresetTool = Static<typeof ChatPresetTool>;

const Published = Type.Boolean({ description: 'Whether all members of the organization can choose the preset.' });
const Default = Type.Boolean({
  description:
    'Whether new chats use this preset unless they name another one. Only one preset can be the default, and it has to be published to take effect.',
});

const PresetFields = {
  name: StorableText({ minLength: 1, maxLength: 100 }),
  description: Type.Optional(Nullable(StorableText({ maxLength: 500 }))),
  model: Type.Optional(Nullable(Type.String({ minLength: 1, description: 'Null: the user chooses the model.' }))),
  instructions: Type.Optional(
    Nullable(
      StorableText({ maxLength: 100_000, description: 'System message. Only owners of the organization can read it.' }),
    ),
  ),
  knowledge_base_ids: Type.Optional(Type.Array(Type.String(), { maxItems: 64 })),
  tools: Type.Optional(Type.Array(ChatPresetTool, { maxItems: MAX_SERVERS })),
  parameters: Type.Optional(ChatPresetParameters),
  published: Type.Optional(Published),
  default: Type.Optional(Default),
};

/** Body of `POST /v1/chat-presets`. */
export const CreateChatPreset = Type.Object(PresetFields, {
  examples: [{ name: 'Support', instructions: 'Answer briefly and politely.', published: true }],
});

export type CreateChatPreset = Static<typeof CreateChatPreset>;

/** Body of `PATCH /v1/chat-presets/{preset_id}`: the fields to change. */
export const UpdateChatPreset = Type.Object(
  {
    ...PresetFields,
    name: Type.Optional(PresetFields.name),
    position: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 1_000, description: 'New position in the list, starting at 0.' }),
    ),
  },
  { description: 'Absent fields keep their values.', examples: [{ published: true, position: 0 }] },
);

export type UpdateChatPreset = Static<typeof UpdateChatPreset>;

/** A preset. */
export const ChatPresetResource = Type.Object({
  id: Type.String({ description: '`preset_...`' }),
  object: Type.Literal('chat.preset'),
  name: Type.String(),
  description: Nullable(Type.String()),
  model: Nullable(Type.String()),
  instructions: Nullable(Type.String({ description: 'Null if the caller is not an owner of the organization.' })),
  knowledge_base_ids: Type.Array(Type.String(), { description: 'Existing knowledge bases that the caller may use.' }),
  tools: Type.Array(ChatPresetTool),
  parameters: ChatPresetParameters,
  published: Published,
  default: Default,
  position: Type.Integer(),
  created_at: UnixSeconds,
  updated_at: UnixSeconds,
});

export type ChatPresetResource = Static<typeof ChatPresetResource>;

/** The preset of a chat, for users who may not read the instructions. */
export const ChatPresetSummary = Type.Object({
  id: Type.String(),
  name: Nullable(Type.String({ description: 'Null if the preset was deleted.' })),
  state: Type.Enum(['published', 'unpublished', 'deleted'], {
    description: 'An unpublished preset still applies to chats that use it. A deleted preset does not.',
  }),
});

export type ChatPresetSummary = Static<typeof ChatPresetSummary>;

/** Path of one preset. */
export const ChatPresetParams = Type.Object({ preset_id: Type.String() });

/** Answer of `DELETE /v1/chat-presets/{preset_id}`. */
export const DeletedChatPreset = deletedSchema('chat.preset');

titleSchemas({ CreateChatPreset, UpdateChatPreset, ChatPresetResource, ChatPresetSummary, DeletedChatPreset });

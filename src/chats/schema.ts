import { type Static, Type } from 'typebox';
import { ChatPresetSummary } from '../chat-presets/schema.ts';
import { deletedSchema, ListQuery } from '../db/page.ts';
import { NULL_IS_ABSENT } from '../http/null-fields.ts';
import { Nullable, UnixSeconds } from '../http/schema-types.ts';
import { MUST } from '../http/validation.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { ResponseResource } from '../responses/schema.ts';
import { MAX_ATTACHMENTS, SentAttachment } from './attachment-schema.ts';
import { MessageFeedback } from './feedback-schema.ts';

const Title = Type.String({ minLength: 1, maxLength: 200 });
/** URL parsers resolve the path segments `.` and `..`. */
const FolderName = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^(?!\\.\\.?$)',
  [MUST]: "not be '.' or '..'",
  description: "Name of the folder. Must not be '.' or '..'.",
});
const Folder = Nullable(FolderName);

/** Body of `POST /v1/chats`. */
export const CreateChat = Type.Object(
  {
    title: Type.Optional(
      Nullable(
        Type.String({
          minLength: 1,
          maxLength: 200,
          description: 'Default: the first words of the first message, later a title that the model writes.',
        }),
      ),
    ),
    folder: Type.Optional(Folder),
    preset_id: Type.Optional(
      Nullable(
        Type.String({
          description: 'Id of a preset, or null for no preset. Default: the default preset of the organization.',
        }),
      ),
    ),
  },
  { examples: [{}] },
);

export type CreateChat = Static<typeof CreateChat>;

/** Body of `PATCH /v1/chats/{chat_id}`: the fields to change. */
export const UpdateChat = Type.Object(
  {
    title: Type.Optional(Title),
    pinned: Type.Optional(Type.Boolean({ description: 'Pinned chats come first in the list.' })),
    folder: Type.Optional(Folder),
    current_message_id: Type.Optional(
      Type.String({ description: 'The last message of the branch that is shown; a message of the chat.' }),
    ),
  },
  { description: 'Absent fields keep their values.', examples: [{ pinned: true }] },
);

export type UpdateChat = Static<typeof UpdateChat>;

/** A chat. */
export const ChatResource = Type.Object({
  id: Type.String({ description: '`chat_...`' }),
  object: Type.Literal('chat'),
  title: Type.String({ description: 'Empty before the first message.' }),
  pinned: Type.Boolean(),
  folder: Nullable(Type.String()),
  current_message_id: Nullable(Type.String({ description: 'The last message of the branch that is shown.' })),
  model: Nullable(Type.String({ description: 'Model of the last message.' })),
  knowledge_base_ids: Type.Array(Type.String(), { description: 'Knowledge bases of the last message.' }),
  preset: Nullable(ChatPresetSummary),
  message_count: Type.Integer({ description: 'Messages of all branches.' }),
  created_at: UnixSeconds,
  updated_at: Type.Integer({ description: 'Unix seconds of the last message.' }),
});

export type ChatResource = Static<typeof ChatResource>;

const RetentionDays = Nullable(
  Type.Integer({
    minimum: 1,
    maximum: 3650,
    description: 'Days after the last message until chats are deleted. Null: never.',
  }),
);

const ModelTitles = Type.Boolean({
  description:
    'Whether the model of a chat writes a title after the first answer. This is a short call that is billed to the owner of the chat. Otherwise, and with bundled models, the title is the first words of the first message.',
});

/** Settings of the chats of an organization. */
export const ChatHistorySettings = Type.Object({
  object: Type.Literal('chat.settings'),
  retention_days: RetentionDays,
  model_titles: ModelTitles,
});

export type ChatHistorySettings = Static<typeof ChatHistorySettings>;

/** Body of `PATCH /v1/chat-settings`. */
export const UpdateChatHistorySettings = Type.Object(
  { retention_days: Type.Optional(RetentionDays), model_titles: Type.Optional(ModelTitles) },
  { description: 'Absent fields keep their values.', examples: [{ retention_days: 90 }] },
);

export type UpdateChatHistorySettings = Static<typeof UpdateChatHistorySettings>;

/** Query of `GET /v1/chats`. */
export const ChatListQuery = Type.Object({
  ...ListQuery.properties,
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'Returns only chats with this text in the title, a message or an answer (case-insensitive).',
    }),
  ),
  folder: Type.Optional(
    Type.String({
      maxLength: 100,
      description: 'Returns only chats of this folder. An empty value returns chats without a folder.',
    }),
  ),
});

export type ChatListQuery = Static<typeof ChatListQuery>;

/** Body of `POST /v1/chats/{chat_id}/messages`. */
export const SendChatMessage = Type.Object(
  {
    text: Type.String({ minLength: 1, maxLength: 1_000_000 }),
    parent_id: Type.Optional(
      Nullable(
        Type.String({
          description:
            'The message that this one follows; null or absent: the first of a branch. A second message with one parent is another branch.',
        }),
      ),
    ),
    preset_id: Type.Optional(
      Nullable(
        Type.String({
          description:
            'Id of a preset for this message and later ones, or null for no preset. Default: the preset of the chat.',
        }),
      ),
    ),
    model: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'Default: the model of the preset. Required if the preset has no model.',
      }),
    ),
    knowledge_base_ids: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: 64,
        description: 'Knowledge bases that the model may search. Default: the knowledge bases of the preset.',
      }),
    ),
    attachment_ids: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: MAX_ATTACHMENTS,
        description:
          'Files of the chat that are sent with the message. Each file must be `ready`. Images require a model with the capability `vision`. The model searches all documents of the chat for every message.',
      }),
    ),
    stream: Type.Optional(Type.Boolean({ default: false, description: 'Answers with the events of the response.' })),
  },
  { [NULL_IS_ABSENT]: true, examples: [{ model: 'general-8b', text: 'When is the library open?' }] },
);

export type SendChatMessage = Static<typeof SendChatMessage>;

/** A message of a person, with its answer. */
export const ChatMessageResource = Type.Object({
  id: Type.String({ description: '`resp_...`: id of the response, which only the chat shows.' }),
  object: Type.Literal('chat.message'),
  chat_id: Type.String(),
  parent_id: Nullable(Type.String()),
  text: Type.String(),
  attachments: Type.Array(SentAttachment, {
    description: 'Files that were sent with the message, including deleted files.',
  }),
  created_at: UnixSeconds,
  duration_ms: Nullable(
    Type.Integer({ description: 'Time from the message to the end of its answer. Null while the answer is running.' }),
  ),
  feedback: Nullable(MessageFeedback),
  response: ResponseResource,
});

export type ChatMessageResource = Static<typeof ChatMessageResource>;

/** An export of a chat as JSON. */
export const ChatExport = Type.Object({
  object: Type.Literal('chat.export'),
  chat: ChatResource,
  messages: Type.Array(ChatMessageResource, { description: 'Of all branches, in the order in which they were sent.' }),
});

/** Query of `GET /v1/chats/{chat_id}/messages/{message_id}`. */
export const GetChatMessageQuery = Type.Object({
  stream: Type.Optional(Type.Boolean({ default: false, description: 'The events of the response, to its end.' })),
  starting_after: Type.Optional(
    Type.Integer({ minimum: 0, description: 'With `stream`: only events after this sequence number.' }),
  ),
});

/** Query of `GET /v1/chats/{chat_id}/export`. */
export const ChatExportQuery = Type.Object({
  format: Type.Optional(
    Type.Union([Type.Literal('json'), Type.Literal('markdown')], {
      default: 'json',
      description: '`json`: the chat and the messages of all branches. `markdown`: the branch that is shown.',
    }),
  ),
});

/** Format of an export. */
export type ChatExportFormat = NonNullable<Static<typeof ChatExportQuery>['format']>;

/** A folder of chats. It exists as long as it contains chats. */
export const ChatFolder = Type.Object({
  object: Type.Literal('chat.folder'),
  name: Type.String(),
  chat_count: Type.Integer(),
});

/** Answer of `GET /v1/chat-folders`. */
export const ChatFolderList = Type.Object({ object: Type.Literal('list'), data: Type.Array(ChatFolder) });

export type ChatFolderList = Static<typeof ChatFolderList>;

/** Body of `PATCH /v1/chat-folders/{folder}`. */
export const RenameChatFolder = Type.Object({ name: FolderName }, { examples: [{ name: 'Harbour' }] });

/** Answer of `PATCH` and `DELETE /v1/chat-folders/{folder}`. */
export const MovedChats = Type.Object({
  object: Type.Literal('chat.folder'),
  name: Nullable(Type.String({ description: 'New folder of the chats, or null.' })),
  moved_count: Type.Integer({ description: 'Number of chats that were moved.' }),
});

export type MovedChats = Static<typeof MovedChats>;

/** Path of one folder. */
export const ChatFolderParams = Type.Object({ folder: Type.String({ maxLength: 100 }) });

/** Path of one chat. */
export const ChatParams = Type.Object({ chat_id: Type.String() });

/** Path of one message. */
export const ChatMessageParams = Type.Object({ chat_id: Type.String(), message_id: Type.String() });

/** Answer of `DELETE /v1/chats/{chat_id}`. */
export const DeletedChat = deletedSchema('chat');

titleSchemas({
  CreateChat,
  UpdateChat,
  ChatResource,
  SendChatMessage,
  ChatMessageResource,
  ChatExport,
  ChatHistorySettings,
  UpdateChatHistorySettings,
  DeletedChat,
  ChatFolder,
  ChatFolderList,
  RenameChatFolder,
  MovedChats,
});

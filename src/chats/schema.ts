import { type Static, Type } from 'typebox';
import { deletedSchema, ListQuery } from '../db/page.ts';
import { NULL_IS_ABSENT } from '../http/null-fields.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { ResponseResource } from '../responses/schema.ts';

const OrNull = <T extends Parameters<typeof Type.Array>[0]>(schema: T) => Type.Union([schema, Type.Null()]);

const Title = Type.String({ minLength: 1, maxLength: 200 });
const Folder = OrNull(Type.String({ minLength: 1, maxLength: 100, description: 'Name of the folder of the list.' }));

/** Body of `POST /v1/chats`. */
export const CreateChat = Type.Object(
  {
    title: Type.Optional(
      OrNull(
        Type.String({ minLength: 1, maxLength: 200, description: 'Default: the first words of the first message.' }),
      ),
    ),
    folder: Type.Optional(Folder),
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
  { description: 'Fields that are absent stay.', examples: [{ pinned: true }] },
);

export type UpdateChat = Static<typeof UpdateChat>;

/** A chat. */
export const ChatResource = Type.Object({
  id: Type.String({ description: '`chat_...`' }),
  object: Type.Literal('chat'),
  title: Type.String({ description: 'Empty before the first message.' }),
  pinned: Type.Boolean(),
  folder: OrNull(Type.String()),
  current_message_id: OrNull(Type.String({ description: 'The last message of the branch that is shown.' })),
  model: OrNull(Type.String({ description: 'Model of the last message.' })),
  knowledge_base_ids: Type.Array(Type.String(), { description: 'Knowledge bases of the last message.' }),
  message_count: Type.Integer({ description: 'Messages of all branches.' }),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  updated_at: Type.Integer({ description: 'Unix seconds of the last message.' }),
});

export type ChatResource = Static<typeof ChatResource>;

const RetentionDays = OrNull(
  Type.Integer({
    minimum: 1,
    maximum: 3650,
    description: 'Chats are deleted this many days after their last message; null: never.',
  }),
);

/** Settings of the chats of an organization. */
export const ChatHistorySettings = Type.Object({
  object: Type.Literal('chat.settings'),
  retention_days: RetentionDays,
});

export type ChatHistorySettings = Static<typeof ChatHistorySettings>;

/** Body of `PATCH /v1/chat-settings`. */
export const UpdateChatHistorySettings = Type.Object(
  { retention_days: Type.Optional(RetentionDays) },
  { description: 'Fields that are absent stay.', examples: [{ retention_days: 90 }] },
);

export type UpdateChatHistorySettings = Static<typeof UpdateChatHistorySettings>;

/** Query of `GET /v1/chats`. */
export const ChatListQuery = Type.Object({
  ...ListQuery.properties,
  search: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 256,
      description: 'Lists only chats with this text in the title, a message or an answer, in upper or lower case.',
    }),
  ),
});

export type ChatListQuery = Static<typeof ChatListQuery>;

/** Body of `POST /v1/chats/{chat_id}/messages`. */
export const SendChatMessage = Type.Object(
  {
    text: Type.String({ minLength: 1, maxLength: 1_000_000 }),
    parent_id: Type.Optional(
      OrNull(
        Type.String({
          description:
            'The message that this one follows; null or absent: the first of a branch. A second message with one parent is another branch.',
        }),
      ),
    ),
    model: Type.String({ minLength: 1 }),
    knowledge_base_ids: Type.Optional(
      Type.Array(Type.String(), { maxItems: 64, description: 'Knowledge bases that the model may search.' }),
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
  parent_id: OrNull(Type.String()),
  text: Type.String(),
  created_at: Type.Integer({ description: 'Unix seconds.' }),
  duration_ms: OrNull(Type.Integer({ description: 'From the message to the end of its answer; null while it runs.' })),
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
});

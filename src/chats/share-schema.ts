import { type Static, Type } from 'typebox';
import { UnixSeconds } from '../http/schema-types.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { EXCHANGE } from './view-exchange.ts';

/** The link of a chat. */
export const ChatShare = Type.Object({
  id: Type.String({ description: 'Random id. The console shows the chat at `/chat/shared/{id}`.' }),
  object: Type.Literal('chat.share'),
  chat_id: Type.String(),
  message_id: Type.String({ description: 'Last message of the shared branch.' }),
  created_at: Type.Integer({ description: 'Unix seconds of the last update of the shared branch.' }),
});

export type ChatShare = Static<typeof ChatShare>;

/** Answer of `DELETE /v1/chats/{chat_id}/share`. */
export const DeletedChatShare = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.share'),
  deleted: Type.Literal(true),
});

/** A chat that a member of the organization has shared. */
export const SharedChat = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.shared'),
  title: Type.String({ description: 'Title at the time of sharing.' }),
  owner_name: Type.Union([Type.String(), Type.Null()], { description: 'Null if an API key owns the chat.' }),
  shared_at: UnixSeconds,
});

export type SharedChat = Static<typeof SharedChat>;

/** A message of a shared chat with its answer. */
export const SharedChatMessage = Type.Object({
  id: Type.String(),
  object: Type.Literal('chat.shared_message'),
  ...EXCHANGE,
});

export type SharedChatMessage = Static<typeof SharedChatMessage>;

/** Path of a shared chat. */
export const SharedChatParams = Type.Object({ share_id: Type.String() });

titleSchemas({ ChatShare, DeletedChatShare, SharedChat, SharedChatMessage });

import { type Static, Type } from 'typebox';
import { NULL_IS_ABSENT } from '../http/null-fields.ts';
import { MetadataObject } from '../knowledge-bases/schema.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { IgnoredInclude, ResponseInputItem, ResponseInputItemList } from './input-items-schema.ts';
import { InputItem } from './item-schema.ts';

/** Items of one request. */
const MAX_ADDED_ITEMS = 20;

const items = Type.Array(InputItem, { maxItems: MAX_ADDED_ITEMS });

/** Body of `POST /v1/conversations`. */
export const CreateConversation = Type.Object(
  { items: Type.Optional(items), metadata: Type.Optional(MetadataObject) },
  { [NULL_IS_ABSENT]: true, examples: [{ items: [{ role: 'user', content: 'My name is Ada.' }] }] },
);

export type CreateConversation = Static<typeof CreateConversation>;

/** Body of `POST /v1/conversations/{conversation_id}`. */
export const UpdateConversation = Type.Object({
  metadata: Type.Union([MetadataObject, Type.Null()], { description: 'Null removes it.' }),
});

export type UpdateConversation = Static<typeof UpdateConversation>;

/** Body of `POST /v1/conversations/{conversation_id}/items`. */
export const AddConversationItems = Type.Object(
  { items: Type.Array(InputItem, { minItems: 1, maxItems: MAX_ADDED_ITEMS }) },
  { [NULL_IS_ABSENT]: true, examples: [{ items: [{ role: 'user', content: 'My name is Ada.' }] }] },
);

export type AddConversationItems = Static<typeof AddConversationItems>;

/** A conversation. */
export const ConversationResource = Type.Object({
  id: Type.String({ description: '`conv_...`' }),
  object: Type.Literal('conversation'),
  created_at: Type.Integer(),
  metadata: MetadataObject,
});

export type ConversationResource = Static<typeof ConversationResource>;

/** Response of `DELETE`. */
export const DeletedConversation = Type.Object({
  id: Type.String(),
  object: Type.Literal('conversation.deleted'),
  deleted: Type.Literal(true),
});

/** Items of a conversation, in the form of the input items of responses. */
export const ConversationItemList = Type.Object({ ...ResponseInputItemList.properties });

/** One item. */
export const ConversationItemView = ResponseInputItem;

/** Path of one conversation. */
export const ConversationParams = Type.Object({ conversation_id: Type.String() });

/** Query of `GET /v1/conversations/{conversation_id}/items/{item_id}`. */
export const ConversationItemQuery = Type.Object({ include: IgnoredInclude });

/** Path of one item. */
export const ConversationItemParams = Type.Object({ conversation_id: Type.String(), item_id: Type.String() });

titleSchemas({
  CreateConversation,
  UpdateConversation,
  AddConversationItems,
  ConversationResource,
  DeletedConversation,
  ConversationItemList,
});

import { type Static, Type } from 'typebox';
import { ListQuery } from '../db/page.ts';
import { UnixSeconds } from '../http/schema-types.ts';
import { titleSchemas } from '../lib/title-schemas.ts';
import { EXCHANGE } from './view-exchange.ts';

const Rating = Type.Enum(['up', 'down']);
const Comment = Type.Union([Type.String({ maxLength: 4_000 }), Type.Null()]);

/** The rating of an answer. */
export const MessageFeedback = Type.Object({ rating: Rating, comment: Comment });

export type MessageFeedback = Static<typeof MessageFeedback>;

/** Body of `PUT /v1/chats/{chat_id}/messages/{message_id}/feedback`. */
export const PutFeedback = Type.Object(
  { rating: Rating, comment: Type.Optional(Comment) },
  { examples: [{ rating: 'down', comment: 'The fee is of last year.' }] },
);

export type PutFeedback = Static<typeof PutFeedback>;

/** Answer of `DELETE /v1/chats/{chat_id}/messages/{message_id}/feedback`. */
export const DeletedFeedback = Type.Object({
  id: Type.String({ description: 'Id of the message.' }),
  object: Type.Literal('chat.feedback'),
  deleted: Type.Literal(true),
});

/** A rating with the rated message and answer. */
export const ChatFeedback = Type.Object({
  id: Type.String({ description: 'Id of the message.' }),
  object: Type.Literal('chat.feedback'),
  ...MessageFeedback.properties,
  rated_at: UnixSeconds,
  owner: Type.Object({
    id: Type.String({ description: 'Id of the user or key that rated the answer.' }),
    name: Type.Union([Type.String(), Type.Null()], { description: 'Null for a key.' }),
  }),
  ...EXCHANGE,
});

export type ChatFeedback = Static<typeof ChatFeedback>;

/** Query of `GET /v1/chat-feedback`. */
export const FeedbackListQuery = Type.Object({ ...ListQuery.properties, rating: Type.Optional(Rating) });

export type FeedbackListQuery = Static<typeof FeedbackListQuery>;

titleSchemas({ MessageFeedback, PutFeedback, DeletedFeedback, ChatFeedback });

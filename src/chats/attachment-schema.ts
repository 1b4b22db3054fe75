import { type Static, Type } from 'typebox';
import { deletedSchema } from '../db/page.ts';
import { ATTACHMENT_EXTENSIONS, IMAGE_EXTENSIONS } from '../files/formats.ts';
import { UnixSeconds } from '../http/schema-types.ts';
import { OcrProgress } from '../knowledge-bases/jobs/schema.ts';
import { titleSchemas } from '../lib/title-schemas.ts';

/** Maximum number and total size of the attachments of a chat. */
export const MAX_ATTACHMENTS = 50;
export const MAX_CHAT_BYTES = 536_870_912;
/** Maximum size of a document, in bytes. */
export const MAX_DOCUMENT_BYTES = 104_857_600;
/** Maximum size of an image, in bytes. The image is sent to the model again with every later message. */
export const MAX_ATTACHED_IMAGE_BYTES = 5_242_880;

/** Form of `POST /v1/chats/{chat_id}/attachments`. The console reads `x-limits`. */
export const AttachmentForm = Type.Object({
  file: Type.String({
    format: 'binary',
    description: `A ${ATTACHMENT_EXTENSIONS.join(', ')} file. ${IMAGE_EXTENSIONS.join(', ')}: an image of at most ${MAX_ATTACHED_IMAGE_BYTES} bytes, for models with the capability \`vision\`. Other extensions: a document of at most ${MAX_DOCUMENT_BYTES} bytes, which models can search. The content must match the extension.`,
    'x-limits': {
      max_bytes: MAX_DOCUMENT_BYTES,
      max_image_bytes: MAX_ATTACHED_IMAGE_BYTES,
      extensions: ATTACHMENT_EXTENSIONS,
      image_extensions: IMAGE_EXTENSIONS,
    },
  }),
});

/** A file that was sent with a message. */
export const SentAttachment = Type.Object({
  id: Type.String({ description: '`att_...`' }),
  kind: Type.Enum(['document', 'image']),
  name: Type.String(),
  bytes: Type.Integer(),
});

/** A file of a chat. */
export const ChatAttachment = Type.Object({
  ...SentAttachment.properties,
  object: Type.Literal('chat.attachment'),
  chat_id: Type.String(),
  status: Type.Enum(['processing', 'ready', 'failed'], {
    description: 'Messages can include a file when it is `ready`. Documents are `processing` until they are ingested.',
  }),
  progress: Type.Union([OcrProgress, Type.Null()], { description: 'Pages that OCR is processing.' }),
  error: Type.Union([Type.Object({ code: Type.String(), message: Type.String() }), Type.Null()], {
    description: 'Set if `status` is `failed`.',
  }),
  created_at: UnixSeconds,
});

export type ChatAttachment = Static<typeof ChatAttachment>;

/** Path of one attachment. */
export const ChatAttachmentParams = Type.Object({ chat_id: Type.String(), attachment_id: Type.String() });

export type ChatAttachmentPath = Static<typeof ChatAttachmentParams>;

/** Answer of `DELETE /v1/chats/{chat_id}/attachments/{attachment_id}`. */
export const DeletedChatAttachment = deletedSchema('chat.attachment');

titleSchemas({ AttachmentForm, SentAttachment, ChatAttachment, DeletedChatAttachment });

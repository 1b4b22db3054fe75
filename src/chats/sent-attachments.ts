import type { Deps } from '../deps.ts';
import { invalidValue, notFound } from '../errors.ts';
import { imagesUnsupported } from '../inference/image-parts.ts';
import type { ConversationItem } from '../responses/conversation.ts';
import { storedImageUrl } from '../responses/stored-images.ts';
import { MAX_ATTACHMENTS } from './attachment-schema.ts';
import { selectAttachments } from './attachment-store.ts';
import { attachmentKind, viewAttachment } from './attachments.ts';
import type { SendChatMessage } from './schema.ts';
import type { MessageAttachment } from './tables.ts';

/** Whether a model accepts images. */
export const acceptsImages = ({ models }: Pick<Deps, 'models'>, model: string): boolean =>
  models.get(model)?.capabilities.vision === true;

/**
 * Finds the files of a message. Throws, with the position of the file, 404 `chat_attachment_not_found` if the chat does
 * not have the file, and 400 if it is not `ready` or if it is an image and the model accepts only text.
 */
export async function findMessageFiles(
  deps: Pick<Deps, 'db' | 'models'>,
  chatId: string,
  { attachment_ids: ids = [], model }: Pick<SendChatMessage, 'attachment_ids'> & { model: string },
): Promise<MessageAttachment[]> {
  if (ids.length === 0) return [];
  const rows = await selectAttachments(deps.db.sql, chatId, { limit: MAX_ATTACHMENTS, after: null });
  const byId = new Map(rows.map((each) => [each.row.id, each]));
  const sent = ids.map((id, index): MessageAttachment => {
    const param = `attachment_ids.${index}`;
    const attachment = byId.get(id);
    if (attachment === undefined) throw notFound('chat_attachment', id, param);
    const { status, error, name, bytes } = viewAttachment(attachment);
    if (status === 'processing')
      throw invalidValue(
        param,
        `names '${name}', which is still being processed; send the message when the file is ready`,
      );
    if (error !== null) throw invalidValue(param, `names '${name}', which could not be read: ${error.message}`);
    const kind = attachmentKind(attachment);
    if (kind === 'image' && deps.models.get(model)?.capabilities.vision === false)
      throw imagesUnsupported(param, model);
    return { id, fileId: attachment.row.fileId, kind, name, bytes };
  });
  return [...new Map(sent.map((each) => [each.id, each])).values()];
}

/** Returns a user message for the model, with the images before the text. */
export function toUserItem(
  { text, attachments }: { text: string; attachments: readonly MessageAttachment[] },
  withImages: boolean,
): ConversationItem {
  const images = attachments.filter(({ kind }) => kind === 'image' && withImages);
  const prompted = images.map(({ fileId }) => ({ at: 0, url: storedImageUrl(fileId) }));
  return { type: 'message', message: { role: 'user', content: text, ...(images.length > 0 && { images: prompted }) } };
}

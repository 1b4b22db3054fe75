import type { Deps } from '../deps.ts';
import type { PromptImage } from '../engines/engine.ts';
import { requireFormat } from '../files/formats.ts';
import { readContent } from '../files/read-content.ts';
import { selectFile } from '../files/store.ts';
import type { Caller } from '../lib/caller.ts';
import { runForCaller } from '../lib/organization-context.ts';
import type { ConversationItem } from './conversation.ts';

/** URL scheme of stored images. Requests cannot use it. */
const SCHEME = 'quire-file:';
/** Maximum number of images per turn. The newest images are sent again with every turn. */
const MAX_IMAGES = 8;

/** Returns the URL of an image file of a chat. Stored conversations contain this URL instead of the bytes. */
export const storedImageUrl = (fileId: string): string => SCHEME + fileId;

/** Replaces URLs of stored images by their bytes. Omits deleted images, and the oldest images above the limit. */
export async function loadImages(
  deps: Pick<Deps, 'db' | 'blobs'>,
  caller: Caller,
  conversation: ConversationItem[],
  signal: AbortSignal,
): Promise<ConversationItem[]> {
  const stored = conversation.flatMap(messageImages).filter(({ url }) => url.startsWith(SCHEME));
  if (stored.length === 0) return conversation;
  const urls = new Map<string, string | null>();
  for (const url of new Set(stored.slice(-MAX_IMAGES).map((image) => image.url)))
    urls.set(url, await readDataUrl(deps, caller, url.slice(SCHEME.length), signal));
  return conversation.map((item) => {
    if (item.type !== 'message' || messageImages(item).length === 0) return item;
    const images = messageImages(item).flatMap((image) => {
      const url = image.url.startsWith(SCHEME) ? urls.get(image.url) : image.url;
      return url == null ? [] : [{ ...image, url }];
    });
    const { images: _, ...message } = item.message;
    return { ...item, message: { ...message, ...(images.length > 0 && { images }) } };
  });
}

const messageImages = (item: ConversationItem): readonly PromptImage[] =>
  item.type === 'message' ? (item.message.images ?? []) : [];

async function readDataUrl(
  deps: Pick<Deps, 'db' | 'blobs'>,
  caller: Caller,
  fileId: string,
  signal: AbortSignal,
): Promise<string | null> {
  // Jobs have no request context. With the caller's context, only files of the caller's chats are found.
  const file = await runForCaller(caller, () => selectFile(deps.db.sql, caller.organizationId, fileId));
  if (file === null) return null;
  const chunks = await (await readContent(deps, file, null, signal)).toArray();
  return `data:${requireFormat(file.filename).mediaType};base64,${Buffer.concat(chunks).toString('base64')}`;
}

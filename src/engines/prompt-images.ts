import type { ChatMessage, ChatPrompt, PromptImage } from './engine.ts';

/** Tokens of an image: more than models make of most images, for estimates. */
export const IMAGE_TOKENS = 2_048;
/** Tokens of the largest image of common models (Qwen2.5-VL: 12.8 million pixels, 784 a token), as upper bound. */
export const MAX_IMAGE_TOKENS = 16_384;

/** Number of images in the messages. */
export function countImages(messages: readonly ChatMessage[]): number {
  return messages.reduce((sum, { images }) => sum + (images?.length ?? 0), 0);
}

/** The prompt without its images, whose size says nothing about their tokens. */
export function withoutImages(prompt: ChatPrompt): ChatPrompt {
  return { ...prompt, messages: prompt.messages.map(({ images: _, ...message }) => message) };
}

/** Puts a text before the content of a message. */
export function prependText<Message extends Pick<ChatMessage, 'content' | 'images'>>(
  message: Message,
  text: string,
): Message {
  const images = message.images?.map((image) => ({ ...image, at: image.at + text.length }));
  return { ...message, content: text + (message.content ?? ''), ...(images && { images }) };
}

/** The texts and images of a message, in their order. Without images: one text. */
export function splitAtImages({ content, images = [] }: ChatMessage): (string | PromptImage)[] {
  const text = content ?? '';
  const parts = images.flatMap((image, i) => [text.slice(images[i - 1]?.at ?? 0, image.at), image]);
  return [...parts, text.slice(images.at(-1)?.at ?? 0)].filter((part) => part !== '');
}

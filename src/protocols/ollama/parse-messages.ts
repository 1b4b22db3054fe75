import type { ChatMessage, PromptImage } from '../../engines/engine.ts';
import type { ModelView } from '../../engines/registry.ts';
import { invalidValue } from '../../errors.ts';
import { parseImage } from '../../inference/image-parts.ts';
import type { OllamaChatRequest } from './schema.ts';

type WireMessage = NonNullable<OllamaChatRequest['messages']>[number];

/** The first characters of an image in base64, by type. */
const IMAGE_TYPES = { iVBORw0KGgo: 'png', '/9j/': 'jpeg', R0lGOD: 'gif', UklGR: 'webp' } as const;

/**
 * Converts messages. Calls and results without an id get one: a result belongs to the earliest call of its tool that
 * has no result, or to the earliest of all without a name. Throws 400 with the dotted path.
 */
export function parseOllamaMessages(messages: readonly WireMessage[], model: ModelView): ChatMessage[] {
  const open: { id: string; name: string }[] = [];
  let calls = 0;
  const newCallId = () => `call_${calls++}`;
  return messages.map((message, index) => {
    const { role, content = '', images = [], tool_calls: wireCalls = [], tool_name: tool } = message;
    const path = `messages.${index}`;
    if (role === 'tool') {
      const { tool_call_id: id } = message;
      const at = open.findIndex((call) =>
        id === undefined ? tool === undefined || call.name === tool : call.id === id,
      );
      const [call] = at < 0 ? [] : open.splice(at, 1);
      return { role, content, tool_call_id: id ?? call?.id ?? newCallId() };
    }
    if (wireCalls.length > 0 && role !== 'assistant')
      throw invalidValue(`${path}.tool_calls`, 'belongs to assistant messages only');
    const toolCalls = wireCalls.map(({ id = newCallId(), function: { name, arguments: args = {} } }) => {
      open.push({ id, name });
      return { id, type: 'function' as const, function: { name, arguments: JSON.stringify(args) } };
    });
    return {
      role,
      content: content === '' && toolCalls.length > 0 ? null : content,
      ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
      ...parseImages(images, { role, path: `${path}.images` }, model),
    };
  });
}

/** Converts the images at `path`, which stand before the text. Throws 400 naming the image. */
export function parseImages(
  images: readonly string[],
  { role, path }: { role: string; path: string },
  model: ModelView,
): { images?: PromptImage[] } {
  if (images.length === 0) return {};
  return {
    images: images.map((image, index) => {
      const at = `${path}.${index}`;
      return {
        at: 0,
        ...parseImage({ url: toDataUrl(image, at), role }, { path: at, urlPath: at }, IMAGE_RULES(model)),
      };
    }),
  };
}

/** Images are data, never addresses. */
const IMAGE_RULES = (model: ModelView) => ({ model, allowPrivateHosts: null });

function toDataUrl(image: string, path: string): string {
  if (image.startsWith('data:image/')) return image;
  const type = Object.entries(IMAGE_TYPES).find(([start]) => image.startsWith(start))?.[1];
  if (type === undefined) throw invalidValue(path, 'must be a PNG, JPEG, GIF or WebP image in base64');
  return `data:image/${type};base64,${image}`;
}

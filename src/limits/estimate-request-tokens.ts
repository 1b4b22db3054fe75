import { IMAGE_TOKENS } from '../engines/prompt-images.ts';
import type { ModelLookup } from '../engines/registry.ts';
import { modelContextTokens } from '../engines/registry.ts';

/** Bytes of a request body per prompt token: about four for English text, and three (one character) for Chinese. */
const BYTES_PER_TOKEN = 4;
/** Output tokens per choice of a request that sets no limit. */
const DEFAULT_OUTPUT_TOKENS = 256;

/** The fields of inference requests that determine the number of output tokens. */
interface OutputFields {
  model?: string;
  max_completion_tokens?: number | null;
  max_output_tokens?: number | null;
  max_tokens?: number | null;
  n?: number | null;
  best_of?: number | null;
  prompt?: unknown;
}

/** Estimates the tokens of an inference request: the prompt by its size and images, the output by its limit. */
export function estimateRequestTokens(models: Pick<ModelLookup, 'get'>, body: unknown, bodyBytes: number): number {
  const images = findImageUrls(body);
  const textBytes = images.reduce((bytes, url) => bytes - url.length, bodyBytes);
  const promptTokens = Math.ceil(Math.max(0, textBytes) / BYTES_PER_TOKEN) + images.length * IMAGE_TOKENS;
  if (typeof body !== 'object' || body === null) return promptTokens;
  const request = body as OutputFields;
  const model = models.get(request.model ?? '');
  if (model === undefined || !(model.capabilities.chat_completion || model.capabilities.completion))
    return promptTokens;
  const limit = request.max_completion_tokens ?? request.max_output_tokens ?? request.max_tokens;
  const outputTokens = Math.min(limit ?? DEFAULT_OUTPUT_TOKENS, modelContextTokens(model));
  const prompts = Array.isArray(request.prompt) ? request.prompt.length : 1;
  return promptTokens + outputTokens * (request.best_of ?? request.n ?? 1) * prompts;
}

/** URLs of the images in `messages` of a chat and in `input` of a response; the body need not be valid. */
function findImageUrls(body: unknown): string[] {
  const { messages, input } = (body ?? {}) as { messages?: unknown; input?: unknown };
  const parts = toArray(messages ?? input).flatMap((message) => toArray(message?.['content']));
  return parts.flatMap((part) => {
    const image = part?.['image_url'] as { url?: unknown } | string | null | undefined;
    const url = typeof image === 'string' ? image : image?.url;
    return typeof url === 'string' ? [url] : [];
  });
}

const toArray = (value: unknown) => (Array.isArray(value) ? (value as (Record<string, unknown> | null)[]) : []);

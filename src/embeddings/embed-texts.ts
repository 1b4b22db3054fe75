import type { Deps } from '../deps.ts';
import { EMBEDDING_DIMENSIONS } from '../engines/embedding-engine.ts';
import { invalidValue } from '../errors.ts';
import { admitEmbedding, embed } from '../inference/embed.ts';
import type { Call } from '../lib/caller.ts';
import type { EmbeddedTexts } from './answer.ts';
import { type EmbeddingsRequest, MAX_TOKENS_PER_INPUT } from './schema.ts';

/** What embedding needs of the dependencies. */
export type EmbeddingDeps = Pick<Deps, 'models' | 'recordUsage' | 'metrics' | 'now'>;

/**
 * Embeds the request's texts as they stand. Throws 400 for a blank one, for one of too many tokens and for other
 * dimensions than there are, and what `admitEmbedding` and the engine throw.
 */
export async function embedTexts(
  deps: EmbeddingDeps,
  call: Call,
  request: EmbeddingsRequest,
  signal: AbortSignal,
): Promise<EmbeddedTexts> {
  const admitted = admitEmbedding(deps, call.caller, request.model);
  const { input, dimensions, encoding_format: encoding } = request;
  const texts = typeof input === 'string' ? [input] : input;
  const paramOf = (index: number) => (typeof input === 'string' ? 'input' : `input.${index}`);
  const blank = texts.findIndex((text) => !/\S/.test(text));
  if (blank !== -1) throw invalidValue(paramOf(blank), 'must not be blank');
  if ((dimensions ?? EMBEDDING_DIMENSIONS) !== EMBEDDING_DIMENSIONS) {
    throw invalidValue('dimensions', `must be ${EMBEDDING_DIMENSIONS}: these vectors cannot be cut shorter`);
  }
  const { vectors, tokens } = await embed(deps, call, admitted, {
    texts,
    purpose: 'text',
    maxTokensPerText: MAX_TOKENS_PER_INPUT,
    paramOf,
    signal,
  });
  return { model: admitted.model.id, vectors, tokens, encoding: encoding ?? 'float' };
}

/**
 * Throws 400 for lists of token ids, which OpenAI's own models take: another model's numbers would mean other words here.
 * For a body of any form.
 */
export function refuseTokenIds(body: unknown): void {
  const input = typeof body === 'object' && body !== null && 'input' in body ? body.input : null;
  const first = Array.isArray(input) ? input[0] : null;
  if (typeof first !== 'number' && !Array.isArray(first)) return;
  throw invalidValue('input', 'must be a text or a list of texts; token ids are not accepted');
}

import type { Deps } from '../deps.ts';
import { EMBEDDING_DIMENSIONS } from '../engines/embedding-engine.ts';
import { invalidValue } from '../errors.ts';
import { admit } from '../inference/admission.ts';
import { textBounds } from '../inference/cost-bounds.ts';
import { embed } from '../inference/one-piece-calls.ts';
import { screenInput } from '../inference/screening.ts';
import type { Call } from '../lib/caller.ts';
import type { EmbeddedTexts } from './response.ts';
import { type EmbeddingsRequest, MAX_TOKENS_PER_INPUT } from './schema.ts';

/** Dependencies of `embedTexts`. */
export type EmbeddingDeps = Pick<Deps, 'models' | 'reserve' | 'recordUsage' | 'screen' | 'metrics' | 'now'>;

/**
 * Embeds the texts of the request without a prefix. Throws 400 for a single blank text, a text of too many tokens and
 * an unsupported `dimensions`, and what `admit`, the content policy and the engine throw.
 */
export async function embedTexts(
  deps: EmbeddingDeps,
  call: Call,
  request: EmbeddingsRequest,
  signal: AbortSignal,
): Promise<EmbeddedTexts> {
  const admission = admit(deps, call, { kind: 'embedding', model: request.model });
  const { dimensions, encoding_format: encoding } = request;
  const isSingle = typeof request.input === 'string';
  const texts = [request.input].flat();
  const nameParam = (index: number) => (isSingle ? 'input' : `input.${index}`);
  // Clients that embed rows of a table send lists with empty cells.
  if (isSingle && !/\S/.test(texts[0] ?? '')) throw invalidValue('input', 'must not be blank');
  if ((dimensions ?? EMBEDDING_DIMENSIONS) !== EMBEDDING_DIMENSIONS) {
    throw invalidValue('dimensions', `must be ${EMBEDDING_DIMENSIONS}: these vectors cannot be truncated`);
  }
  const embedding = { texts, purpose: 'text', maxTokensPerText: MAX_TOKENS_PER_INPUT, nameParam } as const;
  await admission.requireCredits(deps, () => textBounds(texts));
  const input = await screenInput(deps, admission, embedding, texts);
  const { vectors, tokens } = await embed(deps, admission, input, signal);
  const { organizationId } = call.caller;
  const { notice } = input;
  return { organizationId, model: admission.model.id, vectors, tokens, encoding: encoding ?? 'float', notice };
}

/**
 * Throws 400 for lists of token ids. OpenAI's models accept them, but ids of another tokenizer would be other words
 * here. Accepts a body of any shape.
 */
export function rejectTokenIds(body: unknown): void {
  const input = typeof body === 'object' && body !== null && 'input' in body ? body.input : null;
  const first = Array.isArray(input) ? input[0] : null;
  if (typeof first !== 'number' && !Array.isArray(first)) return;
  throw invalidValue('input', 'must be a text or a list of texts; token ids are not accepted');
}

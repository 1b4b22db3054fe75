import type { Deps } from '../deps.ts';
import { invalidValue } from '../errors.ts';
import type { Call } from '../lib/caller.ts';
import { resolvePromptReference } from '../prompts/render-prompt.ts';
import type { CreateResponse } from './schema.ts';

/**
 * Returns the request with the rendered `prompt` as `instructions`, and with the resolved version, so that stored
 * responses refer to it. Throws 400 naming the field, and 404 for an unknown prompt or version.
 */
export async function resolvePrompt<T extends Pick<CreateResponse, 'prompt' | 'instructions'>>(
  deps: Pick<Deps, 'db'>,
  call: Call,
  request: T,
): Promise<T> {
  if (request.prompt == null) return request;
  if (request.instructions != null) throw invalidValue('prompt', "must not be combined with 'instructions'");
  const { reference, text } = await resolvePromptReference(deps, call, request.prompt);
  return { ...request, prompt: reference, instructions: text };
}

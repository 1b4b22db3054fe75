import type { Deps } from '../../deps.ts';
import { admit } from '../../inference/admission.ts';
import { estimatePromptTokens } from '../../knowledge-bases/grounding/token-estimate.ts';
import type { Call } from '../../lib/caller.ts';
import { parsePrompt } from './parse-call.ts';
import type { CountTokensRequest } from './schema.ts';

/** Counts the tokens of a prompt: exactly for engines that count, otherwise an upper estimate. Calls no model. */
export async function countMessageTokens(
  deps: Pick<Deps, 'config' | 'models'>,
  call: Call,
  request: CountTokensRequest,
  signal: AbortSignal,
): Promise<{ input_tokens: number }> {
  const { model, engine } = admit(deps, call, { kind: 'chat', model: request.model });
  const prompt = parsePrompt(request, { model, allowPrivateHosts: deps.config.allowPrivateHosts });
  const counted = (await engine.countTokens?.(prompt, call.caller.organizationId, signal)) ?? null;
  return { input_tokens: counted ?? estimatePromptTokens(prompt) };
}

import { knownError } from '../http/known-error.ts';
import { estimatePromptTokens } from '../knowledge-bases/grounding/token-estimate.ts';
import type { Call } from '../lib/caller.ts';
import { type CountInputTokens, type InputTokens, requireInput } from './compaction-schema.ts';
import { newIdentity } from './create-response.ts';
import { offeredTools } from './mcp-tools.ts';
import { parseResponseCall, type ResponseDeps } from './parse-call.ts';
import { toRequestError } from './request-fields.ts';
import { resolvePrompt } from './resolve-prompt.ts';
import { planTurn } from './turn-loop.ts';
import { turnPrompt } from './turn-prompt.ts';

/**
 * Counts the tokens of the first prompt that a request would have. Calls no model: nothing is screened, metered or
 * stored. Exact for engines that count prompts, otherwise an upper estimate. Throws as `parseResponseCall` does, and
 * errors of the engine.
 */
export async function countInputTokens(
  deps: ResponseDeps,
  call: Call,
  body: CountInputTokens,
  signal: AbortSignal,
): Promise<InputTokens> {
  const request = await resolvePrompt(deps, call, requireInput(body));
  const response = await parseResponseCall(deps, call, request, newIdentity(deps));
  const hasMcpTools = offeredTools({ ...response, servers: response.mcpServers }, []).size > 0;
  const state = { turns: 0, queries: [], mcpCalls: 0, hasMcpTools };
  const prompt = turnPrompt(response, [], planTurn(response.rules, state));
  const { engine } = response.admission;
  try {
    const counted = (await engine.countTokens?.(prompt, call.caller.organizationId, signal)) ?? null;
    return { object: 'response.input_tokens', input_tokens: counted ?? estimatePromptTokens(prompt) };
  } catch (error) {
    signal.throwIfAborted();
    throw toRequestError(knownError(error), response.functionPaths);
  }
}

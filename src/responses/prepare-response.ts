import { generationBounds } from '../inference/cost-bounds.ts';
import type { GenerationInput } from '../inference/generate.ts';
import { userTexts } from '../inference/messages.ts';
import { type Screened, screenInput } from '../inference/screening.ts';
import type { Call } from '../lib/caller.ts';
import { parseResponseCall, type ResponseCall, type ResponseDeps, type ResponseIdentity } from './parse-call.ts';
import type { CreateResponse } from './schema.ts';

/** A response whose input policies have allowed. */
export type PreparedResponse = Omit<ResponseCall, 'input'> & { readonly input: Screened<GenerationInput> };

/** Parses, admits and screens a request. Throws 402 without credits, 400 if blocked, and as `parseResponseCall`. */
export async function prepareResponse(
  deps: ResponseDeps,
  call: Call,
  request: CreateResponse,
  identity: ResponseIdentity,
): Promise<PreparedResponse> {
  const response = await parseResponseCall(deps, call, request, identity);
  const { admission, input } = response;
  await admission.requireCredits(deps, () => generationBounds(admission.model, input));
  return { ...response, input: await screenInput(deps, admission, input, userTexts(input.prompt)) };
}

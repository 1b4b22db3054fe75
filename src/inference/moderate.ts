import type { ModerationScores } from '../engines/moderation-engine.ts';
import type { Admission } from './admission.ts';
import { textBounds } from './cost-bounds.ts';
import type { MeteringDeps } from './model-call.ts';
import type { Screened } from './screening.ts';

/**
 * Scores texts for harm, in the order of the texts. Usage is recorded once, however the call ends, and is durable when
 * this settles; the tokens read are recorded as prompt tokens.
 */
export async function moderate(
  deps: MeteringDeps,
  admission: Admission<'moderation'>,
  input: Screened<readonly string[]>,
  signal: AbortSignal,
): Promise<ModerationScores[]> {
  const scope = admission.call.caller.organizationId;
  const size = { inputs: input.value.length, bounds: () => textBounds(input.value) };
  const modelCall = await admission.begin(deps, input, size);
  const { scores } = await modelCall.run((engine) => engine.moderate(input.value, signal, scope));
  return scores;
}

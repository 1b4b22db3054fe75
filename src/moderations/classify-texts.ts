import type { Deps } from '../deps.ts';
import { MODERATION_CATEGORIES, type ModerationCategory, type ModerationScores } from '../engines/moderation-engine.ts';
import { invalidValue, missingField } from '../errors.ts';
import { admit } from '../inference/admission.ts';
import { moderate } from '../inference/one-piece-calls.ts';
import { exemptInput } from '../inference/screening.ts';
import type { Call } from '../lib/caller.ts';
import { newId } from '../lib/ids.ts';
import { type ModerationRequest, type ModerationResponse, perCategory } from './schema.ts';

/** Dependencies of `classifyTexts`. */
export type ModerationDeps = Pick<Deps, 'models' | 'reserve' | 'recordUsage' | 'metrics' | 'now'>;

/** Scores from here on are flagged, independent of the guardrail policies of the organization. */
const THRESHOLD = 0.5;

/** Scores the texts of the request for harm. Throws 400 for a blank text, and what `admit` and the engine throw. */
export async function classifyTexts(
  deps: ModerationDeps,
  call: Call,
  request: ModerationRequest,
  signal: AbortSignal,
): Promise<ModerationResponse> {
  const admission = admit(deps, call, { kind: 'moderation', model: request.model ?? undefined });
  const texts = parseTexts(request.input);
  // The texts are sent to be classified: a policy that blocked them would make the route useless.
  const scores = await moderate(deps, admission, exemptInput(texts), signal);
  return { id: newId('moderation'), model: admission.model.id, results: scores.map(viewResult) };
}

type Input = ModerationRequest['input'];
type InputItem = Exclude<Input, string>[number];

/** The texts to classify. Text parts are lines of one text, as they are one input of OpenAI's models. */
function parseTexts(input: Input): string[] {
  if (typeof input === 'string') return [requireText(input, 'input')];
  if (typeof input[0] === 'string') return input.map((item, index) => requireText(item, `input.${index}`));
  return [requireText(input.map(readTextPart).join('\n'), 'input')];
}

function requireText(item: InputItem, path: string): string {
  if (typeof item !== 'string') throw invalidValue(path, 'must be a text, as the first one is');
  if (!/\S/.test(item)) throw invalidValue(path, 'must not be blank');
  return item;
}

function readTextPart(part: InputItem, index: number): string {
  const path = `input.${index}`;
  if (typeof part === 'string' || part.type !== 'text')
    throw invalidValue(path, 'must be a text part, as the first one is');
  if (part.text === undefined) throw missingField(`${path}.text`);
  return part.text;
}

function viewResult(scores: ModerationScores): ModerationResponse['results'][number] {
  const isFlagged = (category: ModerationCategory) => scores[category] >= THRESHOLD;
  return {
    flagged: MODERATION_CATEGORIES.some(isFlagged),
    categories: perCategory(isFlagged),
    category_scores: perCategory((category) => scores[category]),
  };
}

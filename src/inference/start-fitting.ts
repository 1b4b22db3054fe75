import type { ChatPrompt } from '../engines/engine.ts';
import { ApiError } from '../errors.ts';
import type { Admission } from './admission.ts';
import { type Generation, type GenerationDeps, type GenerationInput, startGeneration } from './generate.ts';
import type { Screened } from './screening.ts';

/** A screened input, and the prompts to try. */
export interface FittingInput<Candidate, Input> {
  input: Screened<Input>;
  candidates: AsyncIterable<Candidate> | Iterable<Candidate>;
  /** Returns what to try in place of a prompt that was rejected for another reason; null: nothing. */
  adapt?(prompt: ChatPrompt, error: unknown): ChatPrompt | null;
}

/**
 * Starts a generation with the first prompt that fits the context of the model: takes the next one when the engine
 * answers `context_length_exceeded`, and throws that error after the last one. The prompts may differ from the screened
 * input in documents, not in text of the caller. Otherwise throws as `startGeneration` does.
 */
export async function startFitting<Candidate extends { prompt: ChatPrompt }, Input extends GenerationInput>(
  deps: GenerationDeps,
  admission: Admission<'chat'>,
  { input, candidates, adapt = () => null }: FittingInput<Candidate, Input>,
  signal: AbortSignal,
): Promise<{ generation: Generation; candidate: Candidate }> {
  let rejection: unknown;
  for await (const candidate of candidates) {
    for (let prompt: ChatPrompt | null = candidate.prompt; prompt !== null; ) {
      const attempted: ChatPrompt = prompt;
      const fitted = input.withContext((value) => ({ ...value, prompt: attempted }));
      try {
        return { generation: await startGeneration(deps, admission, fitted, signal), candidate };
      } catch (error) {
        rejection = error;
        const isTooLong = error instanceof ApiError && error.code === 'context_length_exceeded';
        prompt = isTooLong ? null : adapt(attempted, error);
        if (prompt === null && !isTooLong) throw error;
      }
    }
  }
  throw rejection;
}

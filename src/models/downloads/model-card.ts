import { type Static, Type } from 'typebox';
import { parseJsonAs, writeJsonFile } from '../../lib/json-file.ts';

const ModelCard = Type.Object({
  from: Type.String(),
  bytes: Type.Integer(),
  sha256: Type.String(),
  sha256_from: Type.Union([Type.Literal('operator'), Type.Literal('hub'), Type.Literal('nobody')]),
  architecture: Type.String(),
  use: Type.Union([Type.Literal('generation'), Type.Literal('embedding'), Type.Literal('rerank')]),
  parameters: Type.Number(),
  context_tokens: Type.Union([Type.Number(), Type.Null()]),
  pulled_at: Type.Integer(),
});

/** Facts about a model from the time of its pull; `pulled_at` in Unix seconds. */
export type ModelCard = Static<typeof ModelCard>;

/** Parses the text of a card; null if it does not match the schema. */
export function parseCard(text: string): ModelCard | null {
  return parseJsonAs(text, ModelCard);
}

/** Writes a card to its file. */
export function writeCard(path: string, card: ModelCard): Promise<void> {
  return writeJsonFile(path, card);
}

import type { Capabilities, Pricing } from '../engines/registry.ts';

/** What models do. A process that serves the API needs engines of every kind. */
export const MODEL_KINDS = ['generation', 'embedding', 'rerank', 'moderation'] as const;

/** What a model does. */
export type ModelKind = (typeof MODEL_KINDS)[number];

/** The contract of a model id, independent of its engine. */
export interface CatalogueEntry {
  id: string;
  kind: ModelKind;
  maxContextTokens: number;
  pricing: Pricing;
}

/** `created` of the catalogue's models, in Unix seconds. */
export const CATALOGUE_CREATED_AT = 1_763_683_200;
/** `owned_by` of the catalogue's models. */
export const OWNER = 'quire';

/** Credits per 1,000 tokens. */
const per1kTokens = (prompt: number, completion: number): Pricing => ({ prompt, completion, unit: 'per_1k_tokens' });

/** The model ids of the interface. Default prices follow the size of the model that an id is named after. */
export const CATALOGUE: readonly CatalogueEntry[] = [
  { id: 'general-70b', kind: 'generation', maxContextTokens: 131_072, pricing: per1kTokens(0.0006, 0.0008) },
  { id: 'general-8b', kind: 'generation', maxContextTokens: 131_072, pricing: per1kTokens(0.0001, 0.0002) },
  { id: 'multilingual-32b', kind: 'generation', maxContextTokens: 32_768, pricing: per1kTokens(0.0003, 0.0005) },
  { id: 'instruct-7b', kind: 'generation', maxContextTokens: 32_768, pricing: per1kTokens(0.0001, 0.0002) },
  { id: 'reasoning-distill-70b', kind: 'generation', maxContextTokens: 65_536, pricing: per1kTokens(0.0006, 0.001) },
  { id: 'code-latest', kind: 'generation', maxContextTokens: 32_768, pricing: per1kTokens(0.0002, 0.0004) },
  { id: 'embed-large-en-v1.5', kind: 'embedding', maxContextTokens: 2_048, pricing: per1kTokens(0.00002, 0) },
  { id: 'reranker-v2-m3', kind: 'rerank', maxContextTokens: 8_192, pricing: per1kTokens(0.00002, 0) },
  { id: 'moderation-v1', kind: 'moderation', maxContextTokens: 32_768, pricing: per1kTokens(0.00001, 0) },
];

/** Capabilities of generation models. Bindings declare `vision`. */
export const GENERATION: Capabilities = {
  chat_completion: true,
  completion: true,
  function_calling: true,
  json_mode: true,
  streaming: true,
  vision: false,
};

/** Capabilities of all other models. */
export const NO_GENERATION: Capabilities = {
  chat_completion: false,
  completion: false,
  function_calling: false,
  json_mode: false,
  streaming: false,
  vision: false,
};

/** What a model id does. Ids outside the catalogue are the operator's own, and generate text. */
export function modelKind(id: string): ModelKind {
  return CATALOGUE.find((entry) => entry.id === id)?.kind ?? 'generation';
}

import type { Schema } from '../api/types.ts';

type Configuration = Schema<'EvaluationConfiguration'>;

/** Types of search that a run can use. */
export const SEARCH_TYPES = ['hybrid', 'vector', 'keyword'] as const;
/** Chunks that a model answers from unless the run says otherwise, and at most. */
export const TOP_K = { default: 10, max: 50 } as const;

/** How a run searches and answers, and which model scores its answers, as its form edits it. */
export interface RunSettings {
  /** Null: only the search is measured. */
  model: string | null;
  search_type: (typeof SEARCH_TYPES)[number];
  /** Null: the weight of the embedding model. */
  hybrid_weight: number | null;
  top_k: number;
  rerank: boolean;
  /** Is kept, not edited. */
  rerank_model: string | null;
  judge_model: string | null;
}

/** A run or a question set with its configuration. */
interface Configured {
  configuration: Configuration;
  judge_model: string | null;
}

/** Returns the settings of a run or a set. Default: search only, as chats search. */
export function toSettings({ configuration = {}, judge_model = null }: Partial<Configured> = {}): RunSettings {
  const defaults = { model: null, search_type: 'hybrid', hybrid_weight: null, top_k: TOP_K.default } as const;
  return { ...defaults, rerank: false, rerank_model: null, ...configuration, judge_model };
}

/** Returns the fields of a question set or a run with own questions. */
export function toConfigured(settings: RunSettings): Configured {
  const { configuration, judge_model } = toChanges(settings);
  const fields = Object.entries(configuration).filter(([, value]) => value !== null);
  return { configuration: Object.fromEntries(fields), judge_model };
}

/** Returns the fields of a run of a question set: null removes a field of the set. */
export function toChanges({ judge_model, rerank_model, ...settings }: RunSettings) {
  const { model, search_type, hybrid_weight } = settings;
  return {
    configuration: {
      ...settings,
      hybrid_weight: search_type === 'hybrid' ? hybrid_weight : null,
      ...(rerank_model !== null && { rerank_model }),
    },
    judge_model: model === null ? null : judge_model,
  };
}

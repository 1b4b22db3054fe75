/** An open-weight model that `quire models pull` knows by a short name. */
export interface DownloadableModel {
  /** Its name in `pull` and `use`. */
  name: string;
  /** `owner/repository` on the hub. */
  repo: string;
  /** The GGUF in the repository's root. */
  file: string;
  /** llama.cpp's name of its architecture. */
  architecture: string;
  /** Billions of parameters, as published. */
  billions: number;
  /** Rounded file size; the hub states the exact one at the time of the download. */
  approximateBytes: number;
  /** Published context length of the training, in tokens. */
  contextTokens: number;
  /** SPDX identifier, or the name of a custom licence. */
  licence: string;
  /** Model ids that it suits, best first. */
  suits: readonly string[];
  /** One line about quality and hardware. */
  note: string;
}

const MB = 1_000_000;
const GB = 1_000 * MB;

/** Generation ids that suit a small model. */
const SMALL_CHAT = ['general-8b', 'instruct-7b'] as const;

/**
 * Models that can be pulled by name, sorted by size within each kind. Q4_K_M (about 4.5 bits per weight) unless the
 * file name says otherwise: lower precision loses quality quickly. Hashes are not listed: the hub states them.
 */
export const DOWNLOADABLE_MODELS: readonly DownloadableModel[] = [
  {
    name: 'smollm2-360m',
    repo: 'HuggingFaceTB/SmolLM2-360M-Instruct-GGUF',
    file: 'smollm2-360m-instruct-q8_0.gguf',
    architecture: 'llama',
    billions: 0.36,
    approximateBytes: 386 * MB,
    contextTokens: 8_192,
    licence: 'Apache-2.0',
    suits: SMALL_CHAT,
    note: 'For the smallest machines: fluent English, little knowledge.',
  },
  {
    name: 'qwen2.5-0.5b',
    repo: 'Qwen/Qwen2.5-0.5B-Instruct-GGUF',
    file: 'qwen2.5-0.5b-instruct-q4_k_m.gguf',
    architecture: 'qwen2',
    billions: 0.5,
    approximateBytes: 491 * MB,
    contextTokens: 32_768,
    licence: 'Apache-2.0',
    suits: SMALL_CHAT,
    note: 'Quick on any laptop; simple chat and extraction, often wrong on facts.',
  },
  {
    name: 'qwen3-0.6b',
    repo: 'Qwen/Qwen3-0.6B-GGUF',
    file: 'Qwen3-0.6B-Q8_0.gguf',
    architecture: 'qwen3',
    billions: 0.6,
    approximateBytes: 639 * MB,
    contextTokens: 40_960,
    licence: 'Apache-2.0',
    suits: SMALL_CHAT,
    note: 'Thinks before it answers, so better and slower than its size; calls functions.',
  },
  {
    name: 'llama-3.2-1b',
    repo: 'bartowski/Llama-3.2-1B-Instruct-GGUF',
    file: 'Llama-3.2-1B-Instruct-Q4_K_M.gguf',
    architecture: 'llama',
    billions: 1.2,
    approximateBytes: 808 * MB,
    contextTokens: 131_072,
    licence: 'Llama 3.2 Community',
    suits: SMALL_CHAT,
    note: 'Summaries and rewriting in eight languages; long contexts.',
  },
  {
    name: 'gemma-3-1b',
    repo: 'ggml-org/gemma-3-1b-it-GGUF',
    file: 'gemma-3-1b-it-Q4_K_M.gguf',
    architecture: 'gemma3',
    billions: 1,
    approximateBytes: 806 * MB,
    contextTokens: 32_768,
    licence: 'Gemma',
    suits: SMALL_CHAT,
    note: 'Pleasant chat for its size; no functions.',
  },
  {
    name: 'qwen2.5-1.5b',
    repo: 'Qwen/Qwen2.5-1.5B-Instruct-GGUF',
    file: 'qwen2.5-1.5b-instruct-q4_k_m.gguf',
    architecture: 'qwen2',
    billions: 1.5,
    approximateBytes: 1_117 * MB,
    contextTokens: 32_768,
    licence: 'Apache-2.0',
    suits: SMALL_CHAT,
    note: 'The smallest that is of real use: follows instructions, calls functions, many languages.',
  },
  {
    name: 'qwen3-1.7b',
    repo: 'Qwen/Qwen3-1.7B-GGUF',
    file: 'Qwen3-1.7B-Q8_0.gguf',
    architecture: 'qwen3',
    billions: 1.7,
    approximateBytes: 1_834 * MB,
    contextTokens: 40_960,
    licence: 'Apache-2.0',
    suits: SMALL_CHAT,
    note: 'Thinks before it answers; good at arithmetic and functions for its size.',
  },
  {
    name: 'gemma-2-2b',
    repo: 'bartowski/gemma-2-2b-it-GGUF',
    file: 'gemma-2-2b-it-Q4_K_M.gguf',
    architecture: 'gemma2',
    billions: 2.6,
    approximateBytes: 1_709 * MB,
    contextTokens: 8_192,
    licence: 'Gemma',
    suits: SMALL_CHAT,
    note: 'Good English prose; 8,192 tokens of context, no system messages, no functions.',
  },
  {
    name: 'llama-3.2-3b',
    repo: 'bartowski/Llama-3.2-3B-Instruct-GGUF',
    file: 'Llama-3.2-3B-Instruct-Q4_K_M.gguf',
    architecture: 'llama',
    billions: 3.2,
    approximateBytes: 2_019 * MB,
    contextTokens: 131_072,
    licence: 'Llama 3.2 Community',
    suits: SMALL_CHAT,
    note: 'A good all-rounder for a laptop of 8 GB; long contexts.',
  },
  {
    name: 'qwen3-4b',
    repo: 'Qwen/Qwen3-4B-GGUF',
    file: 'Qwen3-4B-Q4_K_M.gguf',
    architecture: 'qwen3',
    billions: 4,
    approximateBytes: 2_497 * MB,
    contextTokens: 40_960,
    licence: 'Apache-2.0',
    suits: [...SMALL_CHAT, 'code-latest'],
    note: 'Thinks before it answers; the strongest that a laptop of 8 GB runs well.',
  },
  {
    name: 'mistral-7b',
    repo: 'bartowski/Mistral-7B-Instruct-v0.3-GGUF',
    file: 'Mistral-7B-Instruct-v0.3-Q4_K_M.gguf',
    architecture: 'llama',
    billions: 7.2,
    approximateBytes: 4_373 * MB,
    contextTokens: 32_768,
    licence: 'Apache-2.0',
    suits: ['instruct-7b', 'general-8b'],
    note: 'What instruct-7b stands for: steady instruction following, functions.',
  },
  {
    name: 'llama-3.1-8b',
    repo: 'bartowski/Meta-Llama-3.1-8B-Instruct-GGUF',
    file: 'Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf',
    architecture: 'llama',
    billions: 8,
    approximateBytes: 4_921 * MB,
    contextTokens: 131_072,
    licence: 'Llama 3.1 Community',
    suits: ['general-8b', 'instruct-7b'],
    note: 'What general-8b stands for: a good all-rounder, functions, long contexts.',
  },
  {
    name: 'qwen3-8b',
    repo: 'Qwen/Qwen3-8B-GGUF',
    file: 'Qwen3-8B-Q4_K_M.gguf',
    architecture: 'qwen3',
    billions: 8.2,
    approximateBytes: 5_028 * MB,
    contextTokens: 40_960,
    licence: 'Apache-2.0',
    suits: ['general-8b', 'instruct-7b', 'multilingual-32b', 'code-latest'],
    note: 'Thinks before it answers; strong at reasoning, functions and many languages.',
  },
  {
    name: 'qwen2.5-coder-7b',
    repo: 'Qwen/Qwen2.5-Coder-7B-Instruct-GGUF',
    file: 'qwen2.5-coder-7b-instruct-q4_k_m.gguf',
    architecture: 'qwen2',
    billions: 7.6,
    approximateBytes: 4_683 * MB,
    contextTokens: 32_768,
    licence: 'Apache-2.0',
    suits: ['code-latest'],
    note: 'Code for a laptop of 16 GB; fills in the middle (suffix).',
  },
  {
    name: 'deepseek-r1-distill-8b',
    repo: 'bartowski/DeepSeek-R1-Distill-Llama-8B-GGUF',
    file: 'DeepSeek-R1-Distill-Llama-8B-Q4_K_M.gguf',
    architecture: 'llama',
    billions: 8,
    approximateBytes: 4_921 * MB,
    contextTokens: 131_072,
    licence: 'MIT and Llama 3.1 Community',
    suits: ['reasoning-distill-70b'],
    note: 'A small stand-in for reasoning-distill-70b: long thinking, sound arithmetic.',
  },
  {
    name: 'qwen3-32b',
    repo: 'Qwen/Qwen3-32B-GGUF',
    file: 'Qwen3-32B-Q4_K_M.gguf',
    architecture: 'qwen3',
    billions: 32.8,
    approximateBytes: 19_762 * MB,
    contextTokens: 40_960,
    licence: 'Apache-2.0',
    suits: ['multilingual-32b', 'general-70b'],
    note: 'What multilingual-32b stands for; wants 32 GB of memory.',
  },
  {
    name: 'qwen2.5-coder-32b',
    repo: 'bartowski/Qwen2.5-Coder-32B-Instruct-GGUF',
    file: 'Qwen2.5-Coder-32B-Instruct-Q4_K_M.gguf',
    architecture: 'qwen2',
    billions: 32.8,
    approximateBytes: 19_851 * MB,
    contextTokens: 32_768,
    licence: 'Apache-2.0',
    suits: ['code-latest'],
    note: 'What code-latest stands for; wants 32 GB of memory.',
  },
  {
    name: 'llama-3.3-70b',
    repo: 'bartowski/Llama-3.3-70B-Instruct-GGUF',
    file: 'Llama-3.3-70B-Instruct-Q4_K_M.gguf',
    architecture: 'llama',
    billions: 70.6,
    approximateBytes: 42.5 * GB,
    contextTokens: 131_072,
    licence: 'Llama 3.3 Community',
    suits: ['general-70b'],
    note: 'What general-70b stands for; wants 64 GB of memory, slow without a GPU server.',
  },
  {
    name: 'deepseek-r1-distill-70b',
    repo: 'bartowski/DeepSeek-R1-Distill-Llama-70B-GGUF',
    file: 'DeepSeek-R1-Distill-Llama-70B-Q4_K_M.gguf',
    architecture: 'llama',
    billions: 70.6,
    approximateBytes: 42.5 * GB,
    contextTokens: 131_072,
    licence: 'MIT and Llama 3.3 Community',
    suits: ['reasoning-distill-70b'],
    note: 'What reasoning-distill-70b stands for; wants 64 GB of memory.',
  },
  {
    name: 'bge-large-en-v1.5',
    repo: 'CompendiumLabs/bge-large-en-v1.5-gguf',
    file: 'bge-large-en-v1.5-f16.gguf',
    architecture: 'bert',
    billions: 0.33,
    approximateBytes: 670 * MB,
    contextTokens: 512,
    licence: 'MIT',
    suits: ['embed-large-en-v1.5'],
    note: 'What embed-large-en-v1.5 stands for: English, 1024 numbers, 512 tokens at once.',
  },
  {
    name: 'qwen3-embedding-0.6b',
    repo: 'Qwen/Qwen3-Embedding-0.6B-GGUF',
    file: 'Qwen3-Embedding-0.6B-Q8_0.gguf',
    architecture: 'qwen3',
    billions: 0.6,
    approximateBytes: 639 * MB,
    contextTokens: 32_768,
    licence: 'Apache-2.0',
    suits: ['embed-large-en-v1.5'],
    note: 'Over a hundred languages, 1024 numbers, long texts; slower than bge-large.',
  },
  {
    name: 'bge-reranker-v2-m3',
    repo: 'gpustack/bge-reranker-v2-m3-GGUF',
    file: 'bge-reranker-v2-m3-FP16.gguf',
    architecture: 'bert',
    billions: 0.57,
    approximateBytes: 1_160 * MB,
    contextTokens: 8_192,
    licence: 'Apache-2.0',
    suits: ['reranker-v2-m3'],
    note: 'What reranker-v2-m3 stands for: many languages, 8,192 tokens.',
  },
];

/** Memory of runtime buffers. */
const RUNTIME_BYTES = 300 * MB;
/** Unit to which estimates are rounded up. */
const MEMORY_STEP_BYTES = 100 * MB;
/** Memory per byte of weights, including a KV cache of about 8,192 tokens. */
const WEIGHTS_AND_CACHE = 1.2;

/** Estimates the memory in bytes that a model needs for one conversation. */
export function estimateMemory({ approximateBytes }: Pick<DownloadableModel, 'approximateBytes'>): number {
  const bytes = approximateBytes * WEIGHTS_AND_CACHE + RUNTIME_BYTES;
  return Math.ceil(bytes / MEMORY_STEP_BYTES) * MEMORY_STEP_BYTES;
}

/** Models that a first start and the console offer, better ones first, with the free memory that each needs. */
const INITIAL_MODELS = [
  { name: 'qwen2.5-1.5b', freeMemoryBytes: 4 * GB },
  { name: 'qwen2.5-0.5b', freeMemoryBytes: 1_500 * MB },
] as const;

/** Name of a model that is offered. */
export type InitialModel = (typeof INITIAL_MODELS)[number]['name'];

/** Returns the best small chat model for the free memory in bytes; null when none fits. */
export function suggestModel(freeMemoryBytes = process.availableMemory()): InitialModel | null {
  return INITIAL_MODELS.find((model) => freeMemoryBytes >= model.freeMemoryBytes)?.name ?? null;
}

/** Models for retrieval that are offered beside a chat model, by the model id that they serve. */
export const RETRIEVAL_MODELS: Readonly<Record<string, string>> = {
  'embed-large-en-v1.5': 'qwen3-embedding-0.6b',
  'reranker-v2-m3': 'bge-reranker-v2-m3',
};
/** Whether a model of this name is offered for retrieval. */
export function isRetrievalModel(name: string): boolean {
  return Object.values(RETRIEVAL_MODELS).includes(name);
}

/** Free memory that those need beside a chat model: 1.8 GB of weights, caches, and room for documents. */
const RETRIEVAL_MEMORY_BYTES = 8 * GB;

/** Returns the models for retrieval for those of the ids that have one; none where the free memory is too little. */
export function suggestRetrievalModels(ids: readonly string[], freeMemoryBytes = process.availableMemory()): string[] {
  if (freeMemoryBytes < RETRIEVAL_MEMORY_BYTES) return [];
  return ids.flatMap((id) => RETRIEVAL_MODELS[id] ?? []);
}

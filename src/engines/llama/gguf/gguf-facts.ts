import type { GgufFileInfo } from 'node-llama-cpp';
import { checkGgufHeader } from './gguf-header.ts';
import { detectGgufUse, type GgufUse } from './gguf-use.ts';

/** Metadata of a GGUF. */
export interface GgufFacts {
  /** llama.cpp's name of the architecture, such as `qwen2`. */
  architecture: string;
  use: GgufUse;
  /** `general.name` of the metadata, or null. */
  name: string | null;
  parameters: number;
  /** Context length of the training; null when the file has none. */
  contextTokens: number | null;
}

/** Vocabulary lists: hundreds of thousands of entries that are not needed here. */
const SKIPPED_KEYS = ['tokens', 'merges', 'scores', 'token_type', 'precompiled_charsmap'].map(
  (key) => `tokenizer.ggml.${key}`,
);
/**
 * Reads the metadata of a GGUF and checks that Quire can use it: a valid header, an architecture that llama.cpp knows,
 * a complete model in one file. Throws an Error with the reason, without the file name.
 */
export async function readGgufFacts(path: string): Promise<GgufFacts> {
  await checkGgufHeader(path);
  // Loaded on demand: it takes a quarter of a second.
  const llama = await import('node-llama-cpp');
  const info = await llama.readGgufFileInfo(path, {
    sourceType: 'filesystem',
    spliceSplitFiles: false,
    ignoreKeys: SKIPPED_KEYS,
    logWarnings: false,
  });
  const general = info.metadata.general as Record<string, unknown> | undefined;
  const architecture = typeof general?.['architecture'] === 'string' ? general['architecture'] : '';
  if (architecture === '') throw new Error('it has no architecture in its metadata');
  const parts = numberOr((info.metadata as { split?: { count?: unknown } }).split?.count, 1);
  if (parts > 1) throw new Error(`it is one of ${parts} parts; choose a model in one file`);
  const use = detectGgufUse(info);
  if (use === null) {
    throw new Error(`it is not a complete text model (${String(general?.['type'] ?? architecture)})`);
  }
  if (!knownArchitectures(llama).includes(architecture)) {
    throw new Error(`its architecture '${architecture}' is not supported by this version of llama.cpp`);
  }
  if (info.totalTensorCount === 0) throw new Error('it contains no weights');
  const traits = info.architectureMetadata as Record<string, unknown>;
  return {
    architecture,
    use,
    name: typeof general?.['name'] === 'string' ? general['name'] : null,
    parameters: countParameters(info),
    contextTokens: numberOr(traits['context_length'], null),
  };
}

/** An enum that exists at run time, although its type says otherwise. */
function knownArchitectures(llama: object): string[] {
  return Object.values((llama as { GgufArchitectureType: Record<string, string> }).GgufArchitectureType);
}

function countParameters(info: GgufFileInfo): number {
  const sizes = info.tensorInfo?.map(({ dimensions }) =>
    dimensions.reduce<number>((all, size) => all * Number(size), 1),
  );
  return sizes?.reduce((sum, size) => sum + size, 0) ?? 0;
}

function numberOr<T>(value: unknown, fallback: T): number | T {
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : fallback;
}

import { access, constants, stat } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { getLlama, type Llama, LlamaLogLevel, type LlamaModel } from 'node-llama-cpp';
import { describeError } from '../../../lib/operator-error.ts';
import { checkGgufHeader } from '../gguf/gguf-header.ts';
import { detectGgufUse, type GgufUse } from '../gguf/gguf-use.ts';

/** The log line of llama.cpp that says why a file cannot be loaded. */
const LOAD_ERROR = /error loading model: (.+)/;
/** Time for that log line to arrive. */
const LOAD_ERROR_DELAY_MS = 20;
/** Descriptions for the error of a model that is bound to an id of another kind. */
const ACTUAL_USE: Readonly<Record<GgufUse | 'none', string>> = {
  generation: 'is a generation model',
  embedding: 'is an embedding model',
  rerank: 'is a reranker',
  none: 'is not a complete text model',
};
const EXPECTED_USE: Readonly<Record<GgufUse, string>> = {
  generation: 'a GGUF of a generation model',
  embedding: 'a GGUF with a pooling type',
  rerank: 'a GGUF with a classification head',
};
const MODEL_ID_KIND: Readonly<Record<GgufUse, string>> = {
  generation: 'a chat model',
  embedding: 'an embedding model',
  rerank: 'a reranking model',
};

/** An open model file with its runtime. */
export interface OpenGguf {
  llama: Llama;
  model: LlamaModel;
}

/**
 * Opens a GGUF for one purpose. Throws an Error with one sentence for the operator that names the file and the remedy.
 */
export async function openGguf(path: string, use: GgufUse): Promise<OpenGguf> {
  const file = `The model file '${path}'`;
  const stats = await stat(path).catch(() => null);
  if (stats === null) throw new Error(`${file} does not exist; put it there, or configure another path.`);
  if (!stats.isFile()) throw new Error(`${file} is not a file; configure the path of a GGUF file.`);
  await access(path, constants.R_OK).catch(() => {
    throw new Error(`${file} cannot be read; give the user that runs Quire permission to read it.`);
  });
  const loadErrors: string[] = [];
  const llama = await loadRuntime((loadError) => loadErrors.push(loadError));
  let model: LlamaModel;
  try {
    await checkGgufHeader(path);
    model = await llama.loadModel({ modelPath: path, gpuLayers: 0 });
  } catch (error) {
    // Log lines arrive through the event loop, after the error that they explain.
    await setTimeout(LOAD_ERROR_DELAY_MS);
    const why = loadErrors[0] ?? firstLine(error);
    throw new Error(
      `${file} cannot be loaded (${why}); it is damaged or not a GGUF that llama.cpp supports; download it again.`,
    );
  }
  const actual = detectGgufUse(model.fileInfo);
  if (actual !== use) {
    const elsewhere = actual === null ? '' : `, and this one to the id of ${MODEL_ID_KIND[actual]}`;
    throw new Error(`${file} ${ACTUAL_USE[actual ?? 'none']}; bind ${EXPECTED_USE[use]} to this id${elsewhere}.`);
  }
  return { llama, model };
}

/** Creates the error for a model that was opened but cannot be used, with the remedy. */
export function unusableModelError(
  path: string,
  error: unknown,
  remedy = 'configure a smaller context_length or another GGUF file',
): Error {
  return new Error(`The model file '${path}' cannot be used (${firstLine(error)}); ${remedy}.`);
}

/**
 * Returns the memory for contexts in bytes: what is free now, minus the weights, whose pages are only loaded when used,
 * and at most `mostMb`.
 */
export function freeMemory(modelBytes: number, mostMb: number | null = null): number {
  const available = process.availableMemory();
  const free = available - Math.min(modelBytes, available / 2);
  return mostMb === null ? free : Math.min(free, mostMb * 2 ** 20);
}

/** Loads llama.cpp. `onLoadError` receives the reason why it rejects a model, which is only logged. */
async function loadRuntime(onLoadError: (loadError: string) => void): Promise<Llama> {
  try {
    return await getLlama({
      logger: (_, message) => {
        // The parent reads stderr to explain a crash.
        process.stderr.write(message.endsWith('\n') ? message : `${message}\n`);
        const loadError = LOAD_ERROR.exec(message)?.[1];
        if (loadError !== undefined) onLoadError(firstLine(new Error(loadError)));
      },
      gpu: false,
      build: 'never',
      usePrebuiltBinaries: true,
      skipDownload: true,
      progressLogs: false,
      maxThreads: 0,
      logLevel: LlamaLogLevel.error,
    });
  } catch (error) {
    throw new Error(
      `llama.cpp has no binary for this machine (${firstLine(error)}); configure an upstream engine instead.`,
    );
  }
}

/** Returns the first line of an error without its final punctuation. */
function firstLine(error: unknown): string {
  const message = describeError(error);
  return (message.split('\n')[0] ?? '').replace(/[.\s]+$/, '').slice(0, 300);
}

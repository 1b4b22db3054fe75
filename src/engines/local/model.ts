import { stat } from 'node:fs/promises';
import {
  getLlama,
  type Llama,
  type LlamaContext,
  type LlamaGrammar,
  LlamaLogLevel,
  type LlamaModel,
} from 'node-llama-cpp';
import { type Calibration, calibrate, MOST_STEP_TOKENS, type StepTime } from './calibration.ts';
import { ChatTemplate } from './chat-template.ts';
import { fitContext, type MemoryOf } from './context-size.ts';
import { checkGgufHeader } from './gguf-header.ts';
import { readTimes, timesKey, writeTimes } from './kept-times.ts';
import { measureSpeed, threadCandidates } from './measure-speed.ts';
import { parameterCount } from './native.ts';
import type { LoadOptions, ModelFacts } from './protocol.ts';
import { Vocabulary } from './vocabulary.ts';

/** Compiled grammars kept: clients send the same few schemas again and again. */
const KEPT_GRAMMARS = 64;

/** A model that is ready to generate. */
export interface LocalModel {
  context: LlamaContext;
  model: LlamaModel;
  vocabulary: Vocabulary;
  template: ChatTemplate;
  facts: ModelFacts;
  /** Throws an Error when llama.cpp does not take the grammar. */
  grammar(text: string): Promise<LlamaGrammar>;
}

/** Loads a GGUF. Throws an Error whose message is one sentence for the operator: which file, and what to do. */
export async function loadModel(options: LoadOptions): Promise<LocalModel> {
  const file = `The model file '${options.file}'`;
  const found = await stat(options.file).catch(() => null);
  if (found === null)
    throw new Error(`${file} does not exist; put it there, or configure the path of another GGUF file.`);
  if (!found.isFile()) throw new Error(`${file} is not a file; configure the path of a GGUF file.`);
  const llama = await loadRuntime();
  let model: LlamaModel;
  try {
    await checkGgufHeader(options.file);
    model = await llama.loadModel({ modelPath: options.file, gpuLayers: 0 });
  } catch (error) {
    throw new Error(
      `${file} cannot be loaded (${reason(error)}); it is damaged or no GGUF that llama.cpp knows, so fetch it again.`,
    );
  }
  try {
    return await prepare(llama, model, options);
  } catch (error) {
    throw new Error(
      `${file} cannot be used (${reason(error)}); configure a smaller context_length or another GGUF file.`,
    );
  }
}

async function loadRuntime(): Promise<Llama> {
  try {
    return await getLlama({
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
      `llama.cpp has no program for this machine (${reason(error)}); configure an upstream engine instead.`,
    );
  }
}

async function prepare(llama: Llama, model: LlamaModel, options: LoadOptions): Promise<LocalModel> {
  const { context, calibration, from } = await createContext(llama, model, options);
  const vocabulary = new Vocabulary(model);
  const { tokens } = model;
  const infill = tokens.infill;
  const source = model.fileInfo.metadata.tokenizer.chat_template ?? null;
  return {
    context,
    model,
    vocabulary,
    template: new ChatTemplate(
      source,
      vocabulary.controls.map((control) => control.text),
      { bos: tokens.bosString ?? '', eos: tokens.eosString ?? '' },
    ),
    facts: {
      contextTokens: Math.min(options.contextTokens ?? context.contextSize, context.contextSize),
      parameters: parameterCount(context),
      suffix: infill.prefix !== null && infill.suffix !== null && infill.middle !== null,
      calibration,
      calibrationFrom: from,
    },
    grammar: grammarCache(llama),
  };
}

/** The context that fits the machine: measured, or as it was before, and no larger than there is memory for. */
async function createContext(
  llama: Llama,
  model: LlamaModel,
  options: LoadOptions,
): Promise<{ context: LlamaContext; calibration: Calibration; from: ModelFacts['calibrationFrom'] }> {
  const memoryOf: MemoryOf = async ({ contextTokens, sequences }) => {
    const size = { contextSize: contextTokens, sequences, batchSize: Math.max(MOST_STEP_TOKENS, sequences) };
    return (await model.fileInsights.estimateContextResourceRequirementsV2({ ...size, modelGpuLayers: 0 })).cpuRam;
  };
  const freeBytes = freeMemory(model.size);
  const { times, from } = await timesOf(llama, model, options);
  const worthwhile = calibrate(times, { threads: options.threads, sequences: null });
  const wish = { ...options, trainedTokens: model.trainContextSize, worthwhileSequences: worthwhile.sequences };
  const { contextTokens, sequences } = await fitContext(wish, freeBytes, memoryOf);
  const calibration = calibrate(times, { threads: options.threads, sequences });
  const context = await model.createContext({
    sequences,
    contextSize: contextTokens,
    batchSize: calibration.stepTokens,
    threads: calibration.threads,
    // Ours were made before, and know of the limits of containers.
    ignoreMemorySafetyChecks: true,
    failedCreationRemedy: false,
  });
  return { context, calibration, from };
}

/** Memory that contexts may take: what is free now, less the weights, which are only read in as they are used. */
function freeMemory(modelBytes: number): number {
  const available = process.availableMemory();
  return available - Math.min(modelBytes, available / 2);
}

/** What was measured of this model on this machine: now, or at an earlier start. */
async function timesOf(
  llama: Llama,
  model: LlamaModel,
  { file, threads, calibrationFile }: LoadOptions,
): Promise<{ times: StepTime[]; from: ModelFacts['calibrationFrom'] }> {
  if (calibrationFile === undefined) return { times: [], from: 'none' };
  const { repo, release } = llama.llamaCppRelease;
  const key = await timesKey(file, `${repo} ${release}`, threadCandidates(threads));
  const kept = await readTimes(calibrationFile, key);
  if (kept !== null) return { times: kept, from: 'kept' };
  const { times, disturbed } = await measureSpeed(model, threads);
  // On a machine that was busy with something else they hold for this start only.
  if (!disturbed) await writeTimes(calibrationFile, key, times);
  return { times, from: 'measured' };
}

function grammarCache(llama: Llama): LocalModel['grammar'] {
  const kept = new Map<string, Promise<LlamaGrammar>>();
  return (text) => {
    const known = kept.get(text) ?? llama.createGrammar({ grammar: text });
    // Set anew, so that the map is in order of use and its first key is the one to drop.
    kept.delete(text);
    kept.set(text, known);
    const oldest = kept.keys().next().value;
    if (kept.size > KEPT_GRAMMARS && oldest !== undefined) kept.delete(oldest);
    return known;
  };
}

/** The first line of an error, without its end mark, to stand within a sentence. */
function reason(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  return (message.split('\n')[0] ?? '').replace(/[.\s]+$/, '').slice(0, 300);
}

import type { FactoredGrammar } from '@quire/json-schema-grammar';
import type { Llama, LlamaContext, LlamaGrammar, LlamaModel } from 'node-llama-cpp';
import { TimeSlice } from '../../../lib/time-slices.ts';
import { SAMPLE_PROMPTS } from '../../template-tokens.ts';
import { type Calibration, calibrate, MAX_STEP_TOKENS, type StepTime } from '../calibration/calibration.ts';
import { readStepTimes, stepTimesKey, writeStepTimes } from '../calibration/calibration-store.ts';
import { measureSpeed, threadCandidates } from '../calibration/measure-speed.ts';
import { GrammarCompiler } from '../constraints/grammar-compiler.ts';
import { INITIAL_SLOTS, KvContext } from '../kv-cache/kv-context.ts';
import { ChatTemplate } from '../prompt/chat-template.ts';
import { parameterCount } from '../runtime/bindings.ts';
import { freeMemory, openGguf, unusableModelError } from '../runtime/open-gguf.ts';
import { LlamaTokenizer } from '../tokenizer/llama-tokenizer.ts';
import { type EstimateMemory, fitContext, MAX_MEMORY_FRACTION } from './context-size.ts';
import type { LoadOptions, ModelFacts } from './protocol.ts';

/** Longest context that llama.cpp is asked about. */
const ASKED_TOKENS = 8_192;
/** More than any chat template adds. */
const MAX_TEMPLATE_TOKENS = 8_192;

/** A loaded generation model. */
export interface LocalModel {
  kv: KvContext;
  model: LlamaModel;
  tokenizer: LlamaTokenizer;
  template: ChatTemplate;
  facts: ModelFacts;
  grammars: GrammarCompiler;
  /** Returns the native form of a grammar, one per grammar. Throws an Error when llama.cpp rejects it. */
  grammar(written: Pick<FactoredGrammar, 'text'>): Promise<LlamaGrammar>;
}

/** Loads a GGUF. Throws an Error with one sentence for the operator that names the file and the remedy. */
export async function loadModel(options: LoadOptions): Promise<LocalModel> {
  const { llama, model } = await openGguf(options.file, 'generation');
  try {
    return await prepare(llama, model, options);
  } catch (error) {
    throw unusableModelError(options.file, error);
  }
}

async function prepare(llama: Llama, model: LlamaModel, options: LoadOptions): Promise<LocalModel> {
  const { kv, calibration, from } = await createContext(llama, model, options);
  const tokenizer = new LlamaTokenizer(model);
  const { tokens } = model;
  const infill = tokens.infill;
  const source = options.template ?? model.fileInfo.metadata.tokenizer.chat_template ?? null;
  const controlTokens = tokenizer.controlTokens.map((control) => control.text);
  const template = new ChatTemplate(source, controlTokens, {
    bos: tokens.bosString ?? '',
    eos: tokens.eosString ?? '',
  });
  const { contextSize } = kv.current;
  return {
    kv,
    model,
    tokenizer,
    template,
    facts: {
      contextTokens: Math.min(options.contextTokens ?? contextSize, contextSize),
      parameters: parameterCount(kv.current),
      documents: template.rendersDocuments,
      sampleTokens: await countSamples(template, tokenizer),
      suffix: infill.prefix !== null && infill.suffix !== null && infill.middle !== null,
      calibration,
      calibrationFrom: from,
    },
    grammars: new GrammarCompiler(),
    grammar: grammarCache(llama),
  };
}

/** Counts the tokens of `SAMPLE_PROMPTS`; see `ModelFacts`. */
async function countSamples(template: ChatTemplate, tokenizer: LlamaTokenizer): Promise<number[]> {
  try {
    const counts: number[] = [];
    for (const { messages } of SAMPLE_PROMPTS) {
      const { text, mark } = template.render(messages, []);
      const tokens = await tokenizer.tokenizePrompt(text, mark, MAX_TEMPLATE_TOKENS, new TimeSlice(''));
      // The tokenizer may add the first token.
      counts.push(tokens.length + 1);
    }
    return counts;
  } catch {
    return [];
  }
}

/** Creates the context, sized by calibration and free memory. */
async function createContext(
  llama: Llama,
  model: LlamaModel,
  options: LoadOptions,
): Promise<{ kv: KvContext; calibration: Calibration; from: ModelFacts['calibrationFrom'] }> {
  const estimateMemory = contextMemoryEstimator(model);
  const freeBytes = freeMemory(model.size, options.contextMb);
  const { times, from } = await loadStepTimes(llama, model, options);
  const { slots: usefulSlots } = calibrate(times, { threads: options.threads, slots: null });
  const request = { ...options, trainedTokens: model.trainContextSize, usefulSlots };
  const { contextTokens, slots: capacity } = await fitContext(request, freeBytes, estimateMemory);
  const calibration = calibrate(times, { threads: options.threads, slots: capacity });
  const create = (slots: number): Promise<LlamaContext> =>
    model.createContext({
      sequences: slots,
      contextSize: contextTokens,
      batchSize: calibration.maxBatchTokens,
      threads: calibration.threads,
      // `fitContext` and `fits` check the memory, and know the limits of containers.
      ignoreMemorySafetyChecks: true,
      failedCreationRemedy: false,
    });
  const fits = async (slots: number): Promise<boolean> =>
    (await estimateMemory({ contextTokens, slots })) <= freeMemory(0, options.contextMb) * MAX_MEMORY_FRACTION;
  // Slots move through the files of the disk cache; without one all slots are allocated at once.
  const initialSlots = options.diskCache === undefined ? capacity : Math.min(INITIAL_SLOTS, capacity);
  return { kv: await KvContext.create({ capacity, create, fits }, initialSlots), calibration, from };
}

/**
 * Estimates the memory of contexts with llama.cpp. The estimate allocates memory per token itself, so long contexts are
 * extrapolated linearly from two shorter ones: an upper bound for sliding windows.
 */
function contextMemoryEstimator(model: LlamaModel): EstimateMemory {
  const ask = async (contextSize: number, slots: number): Promise<number> => {
    const size = { contextSize, sequences: slots, batchSize: Math.max(MAX_STEP_TOKENS, slots), modelGpuLayers: 0 };
    return (await model.fileInsights.estimateContextResourceRequirementsV2(size)).cpuRam;
  };
  return async ({ contextTokens, slots }) => {
    if (contextTokens <= ASKED_TOKENS) return ask(contextTokens, slots);
    const [half, whole] = [await ask(ASKED_TOKENS / 2, slots), await ask(ASKED_TOKENS, slots)];
    return whole + ((whole - half) / (ASKED_TOKENS / 2)) * (contextTokens - ASKED_TOKENS);
  };
}

/** Loads stored measurements of this model on this machine, or measures now. */
async function loadStepTimes(
  llama: Llama,
  model: LlamaModel,
  { file, threads, calibrationFile }: LoadOptions,
): Promise<{ times: StepTime[]; from: ModelFacts['calibrationFrom'] }> {
  if (calibrationFile === undefined) return { times: [], from: 'none' };
  const { repo, release } = llama.llamaCppRelease;
  const key = await stepTimesKey(file, `${repo} ${release}`, threadCandidates(threads));
  const stored = await readStepTimes(calibrationFile, key);
  if (stored !== null) return { times: stored, from: 'stored' };
  const { times, disturbed } = await measureSpeed(model, threads);
  // Measurements of a busy machine are used for this start only.
  if (!disturbed) await writeStepTimes(calibrationFile, key, times);
  return { times, from: 'measured' };
}

function grammarCache(llama: Llama): LocalModel['grammar'] {
  // The native grammar lives as long as the compiler caches its source.
  const loaded = new WeakMap<object, Promise<LlamaGrammar>>();
  return (written) => {
    const grammar = loaded.get(written) ?? llama.createGrammar({ grammar: written.text });
    loaded.set(written, grammar);
    return grammar;
  };
}

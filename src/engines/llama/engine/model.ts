import type { Llama, LlamaContext, LlamaGrammar, LlamaModel } from 'node-llama-cpp';
import { type Calibration, calibrate, MAX_STEP_TOKENS, type StepTime } from '../calibration/calibration.ts';
import { readStepTimes, stepTimesKey, writeStepTimes } from '../calibration/calibration-store.ts';
import { measureSpeed, threadCandidates } from '../calibration/measure-speed.ts';
import { GrammarCompiler } from '../constraints/grammar-compiler.ts';
import type { FactoredGrammar } from '../grammar/gbnf/factored-grammar.ts';
import { INITIAL_SLOTS, KvContext } from '../kv-cache/kv-context.ts';
import { ChatTemplate } from '../prompt/chat-template.ts';
import { parameterCount } from '../runtime/bindings.ts';
import { freeMemory, openGguf, unusableModelError } from '../runtime/open-gguf.ts';
import { LlamaTokenizer } from '../tokenizer/llama-tokenizer.ts';
import { type EstimateMemory, fitContext, MAX_MEMORY_FRACTION } from './context-size.ts';
import type { LoadOptions, ModelFacts } from './protocol.ts';

/** The longest context that llama.cpp is asked about. */
const ASKED_TOKENS = 8_192;

/** A model that is ready to generate. */
export interface LocalModel {
  kv: KvContext;
  model: LlamaModel;
  tokenizer: LlamaTokenizer;
  template: ChatTemplate;
  facts: ModelFacts;
  grammars: GrammarCompiler;
  /** Resolves with one object for one grammar. Throws an Error when llama.cpp does not take it. */
  grammar(written: Pick<FactoredGrammar, 'text'>): Promise<LlamaGrammar>;
}

/** Loads a GGUF. Throws an Error whose message is one sentence for the operator: which file, and what to do. */
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
      suffix: infill.prefix !== null && infill.suffix !== null && infill.middle !== null,
      calibration,
      calibrationFrom: from,
    },
    grammars: new GrammarCompiler(),
    grammar: grammarCache(llama),
  };
}

/** The context that fits the machine: measured, or as it was before, and no larger than there is memory for. */
async function createContext(
  llama: Llama,
  model: LlamaModel,
  options: LoadOptions,
): Promise<{ kv: KvContext; calibration: Calibration; from: ModelFacts['calibrationFrom'] }> {
  const memoryOf = contextMemoryEstimator(model);
  const freeBytes = freeMemory(model.size, options.contextMb);
  const { times, from } = await loadStepTimes(llama, model, options);
  const { slots: usefulSlots } = calibrate(times, { threads: options.threads, slots: null });
  const request = { ...options, trainedTokens: model.trainContextSize, usefulSlots };
  const { contextTokens, slots: capacity } = await fitContext(request, freeBytes, memoryOf);
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
    (await memoryOf({ contextTokens, slots })) <= freeMemory(0, options.contextMb) * MAX_MEMORY_FRACTION;
  // Slots move through the files of the disk cache; without one all slots are allocated at once.
  const initialSlots = options.diskCache === undefined ? capacity : Math.min(INITIAL_SLOTS, capacity);
  return { kv: await KvContext.create({ capacity, create, fits }, initialSlots), calibration, from };
}

/**
 * Asks llama.cpp what contexts would take. That takes memory too, for each token, so that of long ones two shorter ones
 * tell: it grows in a straight line, or, where layers see only a window, less than that.
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

/** What was measured of this model on this machine: now, or at an earlier start. */
async function loadStepTimes(
  llama: Llama,
  model: LlamaModel,
  { file, threads, calibrationFile }: LoadOptions,
): Promise<{ times: StepTime[]; from: ModelFacts['calibrationFrom'] }> {
  if (calibrationFile === undefined) return { times: [], from: 'none' };
  const { repo, release } = llama.llamaCppRelease;
  const key = await stepTimesKey(file, `${repo} ${release}`, threadCandidates(threads));
  const kept = await readStepTimes(calibrationFile, key);
  if (kept !== null) return { times: kept, from: 'kept' };
  const { times, disturbed } = await measureSpeed(model, threads);
  // On a machine that was busy with something else they hold for this start only.
  if (!disturbed) await writeStepTimes(calibrationFile, key, times);
  return { times, from: 'measured' };
}

function grammarCache(llama: Llama): LocalModel['grammar'] {
  // As long as the writer caches a grammar, its native counterpart is there.
  const loaded = new WeakMap<object, Promise<LlamaGrammar>>();
  return (written) => {
    const grammar = loaded.get(written) ?? llama.createGrammar({ grammar: written.text });
    loaded.set(written, grammar);
    return grammar;
  };
}

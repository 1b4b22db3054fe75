import type { Llama, LlamaContext, LlamaGrammar, LlamaModel } from 'node-llama-cpp';
import { type Calibration, calibrate, MOST_STEP_TOKENS, type StepTime } from '../calibration/calibration.ts';
import { readTimes, timesKey, writeTimes } from '../calibration/calibration-store.ts';
import { measureSpeed, threadCandidates } from '../calibration/measure-speed.ts';
import { GrammarWriter } from '../constraints/grammar-compiler.ts';
import type { WrittenGrammar } from '../grammar/gbnf/written-grammar.ts';
import { ChatTemplate } from '../prompt/chat-template.ts';
import { parameterCount } from '../runtime/bindings.ts';
import { cannotBeUsed, freeMemory, openGguf } from '../runtime/open-gguf.ts';
import { Vocabulary } from '../tokenizer/vocabulary.ts';
import { fitContext, type MemoryOf } from './context-size.ts';
import type { LoadOptions, ModelFacts } from './protocol.ts';

/** The longest context that llama.cpp is asked about. */
const ASKED_TOKENS = 8_192;

/** A model that is ready to generate. */
export interface LocalModel {
  context: LlamaContext;
  model: LlamaModel;
  vocabulary: Vocabulary;
  template: ChatTemplate;
  facts: ModelFacts;
  grammars: GrammarWriter;
  /** Resolves with one object for one grammar. Throws an Error when llama.cpp does not take it. */
  grammar(written: Pick<WrittenGrammar, 'text'>): Promise<LlamaGrammar>;
}

/** Loads a GGUF. Throws an Error whose message is one sentence for the operator: which file, and what to do. */
export async function loadModel(options: LoadOptions): Promise<LocalModel> {
  const { llama, model } = await openGguf(options.file, 'generation');
  try {
    return await prepare(llama, model, options);
  } catch (error) {
    throw cannotBeUsed(options.file, error);
  }
}

async function prepare(llama: Llama, model: LlamaModel, options: LoadOptions): Promise<LocalModel> {
  const { context, calibration, from } = await createContext(llama, model, options);
  const vocabulary = new Vocabulary(model);
  const { tokens } = model;
  const infill = tokens.infill;
  const source = options.template ?? model.fileInfo.metadata.tokenizer.chat_template ?? null;
  const controls = vocabulary.controls.map((control) => control.text);
  const template = new ChatTemplate(source, controls, { bos: tokens.bosString ?? '', eos: tokens.eosString ?? '' });
  return {
    context,
    model,
    vocabulary,
    template,
    facts: {
      contextTokens: Math.min(options.contextTokens ?? context.contextSize, context.contextSize),
      parameters: parameterCount(context),
      documents: template.takesDocuments,
      suffix: infill.prefix !== null && infill.suffix !== null && infill.middle !== null,
      calibration,
      calibrationFrom: from,
    },
    grammars: new GrammarWriter(),
    grammar: grammarCache(llama),
  };
}

/** The context that fits the machine: measured, or as it was before, and no larger than there is memory for. */
async function createContext(
  llama: Llama,
  model: LlamaModel,
  options: LoadOptions,
): Promise<{ context: LlamaContext; calibration: Calibration; from: ModelFacts['calibrationFrom'] }> {
  const memoryOf = memoryOfContexts(model);
  const freeBytes = freeMemory(model.size, options.contextMb);
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

/**
 * Asks llama.cpp what contexts would take. That takes memory too, for each token, so that of long ones two shorter ones
 * tell: it grows in a straight line, or, where layers see only a window, less than that.
 */
function memoryOfContexts(model: LlamaModel): MemoryOf {
  const ask = async (contextSize: number, sequences: number): Promise<number> => {
    const size = { contextSize, sequences, batchSize: Math.max(MOST_STEP_TOKENS, sequences), modelGpuLayers: 0 };
    return (await model.fileInsights.estimateContextResourceRequirementsV2(size)).cpuRam;
  };
  return async ({ contextTokens, sequences }) => {
    if (contextTokens <= ASKED_TOKENS) return ask(contextTokens, sequences);
    const [half, whole] = [await ask(ASKED_TOKENS / 2, sequences), await ask(ASKED_TOKENS, sequences)];
    return whole + ((whole - half) / (ASKED_TOKENS / 2)) * (contextTokens - ASKED_TOKENS);
  };
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
  // As long as the writer caches a grammar, its native counterpart is there.
  const loaded = new WeakMap<object, Promise<LlamaGrammar>>();
  return (written) => {
    const grammar = loaded.get(written) ?? llama.createGrammar({ grammar: written.text });
    loaded.set(written, grammar);
    return grammar;
  };
}

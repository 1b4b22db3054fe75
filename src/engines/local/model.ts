import { stat } from 'node:fs/promises';
import {
  getLlama,
  type Llama,
  type LlamaContext,
  type LlamaGrammar,
  LlamaLogLevel,
  type LlamaModel,
} from 'node-llama-cpp';
import { ChatTemplate } from './chat-template.ts';
import { checkGgufHeader } from './gguf-header.ts';
import { parameterCount } from './native.ts';
import type { LoadOptions, ModelFacts } from './protocol.ts';
import { STEP_TOKENS } from './schedule.ts';
import { Vocabulary } from './vocabulary.ts';

/** One thread beats two on small virtual machines, where waking the second one costs more than it computes. */
const DEFAULT_THREADS = 1;
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
  const trained = model.trainContextSize;
  const wanted = Math.min(options.contextTokens ?? trained, trained);
  const context = await model.createContext({
    sequences: options.sequences,
    // Each sequence has that many tokens of its own. Without a wish, what fits in memory is taken.
    contextSize: options.contextTokens === null ? { max: trained } : wanted,
    batchSize: Math.max(STEP_TOKENS, options.sequences),
    threads: options.threads ?? DEFAULT_THREADS,
  });
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
      contextTokens: Math.min(wanted, context.contextSize),
      parameters: parameterCount(context),
      suffix: infill.prefix !== null && infill.suffix !== null && infill.middle !== null,
    },
    grammar: grammarCache(llama),
  };
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

import { LlamaVocabularyType } from 'node-llama-cpp';
import { ApiError, contextLengthExceeded, invalidValue } from '../../../errors.ts';
import { TimeSlice } from '../../../lib/time-slices.ts';
import type { ChatPrompt, FunctionTool, OutputFormat, TextPrompt, ToolChoice } from '../../engine.ts';
import { type CompiledGrammar, requireAffordable } from '../constraints/decoding-constraint.ts';
import type { CompilationRequester } from '../constraints/grammar-compiler.ts';
import { type GrammarSource, grammarParam, isTextConstraint } from '../constraints/request-grammar.ts';
import type { OutputParserOptions } from '../output/output-parser.ts';
import type { ToolCallRules } from '../tool-calls/call-grammar.ts';
import type { LocalModel } from './model.ts';
import { type ConstrainedRequest, type ConstrainedTools, constrainTools } from './tool-constraint.ts';

/** No token has more characters: longer prompts are rejected before any work. */
const MAX_CHARACTERS_PER_TOKEN = 256;

/** Characters of a prompt that is prepared as it arrives: a millisecond. Longer ones wait for a time slice. */
const SHORT_CHARACTERS = 8_192;
/** Cost of a message and of a tool besides the text, in characters. */
const MESSAGE_CHARACTERS = 64;
const TOOL_CHARACTERS = 512;

/** Syntax of the completions of one prompt. */
export type OutputSyntax = Omit<OutputParserOptions, 'choice' | 'stop'>;

/** The syntax of text completions. */
const PLAIN_TEXT: OutputSyntax = {
  reasoning: 'none',
  reasoningTags: { open: '', close: '' },
  calls: null,
  beginsWithCall: false,
  dropsFirstSpace: false,
};

const NO_BIAS: ReadonlyMap<number, number> = new Map();

/** A request in the form that the model computes. */
export interface Prepared {
  tokens: readonly number[];
  /** Tokens of the request: more than `tokens` when the prompt is an excerpt. */
  promptTokens: number;
  /** Syntax of its completions. */
  syntax: OutputSyntax;
  /** Control tokens that are part of the syntax. */
  allowedTokens: readonly number[];
  /** Banned tokens: those that start a tool call where none is allowed. */
  bannedTokens: readonly number[];
  /** Added to the logits of tokens. */
  tokenBias: ReadonlyMap<number, number>;
  /** In force from the first token of the content, after any reasoning. */
  answerGrammar: CompiledGrammar | null;
  /** In force from where the model starts a tool call by itself. */
  callGrammar: CompiledGrammar | null;
}

/** A prepared prompt before its grammars are compiled. */
interface Draft {
  tokens: number[];
  syntax: OutputSyntax;
  allowedTokens: number[];
  bannedTokens: number[];
  tokenBias: ReadonlyMap<number, number>;
  /** Alternatives, best first: the first that can be compiled applies. The error of the last one is the caller's. */
  grammars: readonly Grammars<GrammarSource>[];
}

/** See `Prepared`. */
interface Grammars<Grammar> {
  answerGrammar: Grammar | null;
  callGrammar: Grammar | null;
}

/**
 * Renders, tokenizes and validates a request. Throws 400 for features that the model or a grammar does not
 * support. Throws the signal's reason if it aborts during the compilation of grammars.
 */
export async function preparePrompt(
  model: LocalModel,
  request: ConstrainedRequest,
  signal: AbortSignal,
): Promise<Prepared> {
  const { prompt } = request;
  const param = prompt.kind === 'chat' ? 'messages' : 'prompt';
  const { contextTokens } = model.facts;
  if (characters(request.sentPrompt ?? prompt) > contextTokens * MAX_CHARACTERS_PER_TOKEN) {
    throw contextLengthExceeded(param, null, contextTokens);
  }
  const slice = new TimeSlice(request.scope);
  if (cost(prompt) > SHORT_CHARACTERS) await slice.next();
  for (const token of Object.keys(request.sampling.logitBias)) {
    if (!/^\d+$/.test(token) || Number(token) >= model.tokenizer.size) {
      throw invalidValue(
        `logit_bias.${token}`,
        `is not a token: this model has the tokens 0 to ${model.tokenizer.size - 1}`,
      );
    }
  }
  const draft =
    prompt.kind === 'chat'
      ? await draftChatPrompt(model, prompt, request, slice)
      : await draftTextPrompt(model, prompt, request.format, slice);
  const count = Math.max(draft.tokens.length, await countTokens(model, request.sentPrompt, slice));
  if (count >= contextTokens) {
    throw contextLengthExceeded(param, count > maxCountedTokens(model) ? null : count, contextTokens);
  }
  const grammars = await compileFirst(model, draft.grammars, { scope: request.scope, signal });
  return { ...draft, promptTokens: count, ...grammars };
}

async function compileFirst(
  model: LocalModel,
  [first, ...others]: readonly Grammars<GrammarSource>[],
  requester: CompilationRequester,
): Promise<Grammars<CompiledGrammar>> {
  try {
    return {
      answerGrammar: await compileGrammar(model, first?.answerGrammar ?? null, requester),
      callGrammar: await compileGrammar(model, first?.callGrammar ?? null, requester),
    };
  } catch (error) {
    if (others.length === 0 || !(error instanceof ApiError && error.status === 400)) throw error;
    return compileFirst(model, others, requester);
  }
}

/** Counts the tokens of a chat prompt as `preparePrompt` does, up to twice the context. Throws 400 as it does. */
export async function countPromptTokens(model: LocalModel, request: ConstrainedRequest): Promise<number> {
  const { prompt, scope } = request;
  const { contextTokens } = model.facts;
  if (prompt.kind !== 'chat') throw new Error('only chat prompts are counted');
  if (characters(prompt) > contextTokens * MAX_CHARACTERS_PER_TOKEN)
    throw contextLengthExceeded('messages', null, contextTokens);
  const slice = new TimeSlice(scope);
  if (cost(prompt) > SHORT_CHARACTERS) await slice.next();
  return (await draftChatPrompt(model, prompt, request, slice)).tokens.length;
}

/** Tokens of the messages and tools of the sent prompt; 0 where the computed prompt was sent. */
async function countTokens(model: LocalModel, prompt: ChatPrompt | undefined, slice: TimeSlice): Promise<number> {
  if (prompt === undefined) return 0;
  if (cost(prompt) > SHORT_CHARACTERS) await slice.next();
  const { text, mark } = model.template.render(prompt.messages, prompt.tools, undefined);
  return (await model.tokenizer.tokenizePrompt(text, mark, maxCountedTokens(model), slice)).length;
}

/** Tokens up to which a prompt that is too long is counted, so that the error can report its length. */
function maxCountedTokens(model: LocalModel): number {
  return 2 * model.facts.contextTokens;
}

function characters(prompt: ChatPrompt | TextPrompt): number {
  if (prompt.kind === 'text') return prompt.text.length + (prompt.suffix?.length ?? 0);
  return prompt.messages.reduce((sum, message) => sum + (message.content?.length ?? 0), 0);
}

/** Work with a prompt before its first token is computed, in characters. */
function cost(prompt: ChatPrompt | TextPrompt): number {
  const items =
    prompt.kind === 'text' ? 0 : prompt.messages.length * MESSAGE_CHARACTERS + prompt.tools.length * TOOL_CHARACTERS;
  return characters(prompt) + items;
}

async function compileGrammar(
  model: LocalModel,
  source: GrammarSource | null,
  requester: CompilationRequester,
): Promise<CompiledGrammar | null> {
  if (source === null) return null;
  const path = grammarParam(source);
  const built = await model.grammars.compile(source, requester);
  const { elements } = built;
  requireAffordable({ elements, path }, model.tokenizer);
  try {
    const closes = source.kind === 'calls' || !isTextConstraint(source.format);
    return { native: await model.grammar(built), elements, path, closes };
  } catch (error) {
    const rejection = invalidValue(path, 'cannot be enforced: llama.cpp rejects its grammar');
    rejection.cause = error;
    throw rejection;
  }
}

async function draftTextPrompt(
  model: LocalModel,
  prompt: TextPrompt,
  format: OutputFormat,
  slice: TimeSlice,
): Promise<Draft> {
  const { tokenizer, model: llama, facts } = model;
  let tokens: number[];
  if (prompt.suffix === null) {
    // Control tokens are parsed here: the author of a text completion writes the model's own format.
    tokens = await tokenizer.tokenizePrompt(prompt.text, null, maxCountedTokens(model), slice);
  } else {
    const { prefix, suffix, middle } = llama.tokens.infill;
    if (!facts.suffix || prefix === null || suffix === null || middle === null) {
      throw invalidValue('suffix', 'is not supported: this model has no fill-in-the-middle tokens');
    }
    const before = await tokenizer.tokenizeText(prompt.text, maxCountedTokens(model), slice);
    const after = await tokenizer.tokenizeText(prompt.suffix, maxCountedTokens(model), slice);
    // Not spread into a call: the lists may exceed the maximum number of arguments.
    tokens = [prefix as number].concat(before, suffix, after, middle);
  }
  addBos(model, tokens);
  return {
    tokens,
    syntax: PLAIN_TEXT,
    allowedTokens: [],
    bannedTokens: [],
    tokenBias: NO_BIAS,
    grammars: [{ answerGrammar: format.type === 'text' ? null : { kind: 'format', format }, callGrammar: null }],
  };
}

async function draftChatPrompt(
  model: LocalModel,
  prompt: ChatPrompt,
  request: ConstrainedRequest,
  slice: TimeSlice,
): Promise<Draft> {
  const { format, narrowedFormat, toolConstraint } = request;
  const { template } = model;
  const { toolCallFormat, reasoningTags } = template;
  const tools = constrainTools(prompt.tools, toolConstraint);
  const callable = selectTools(tools.callable, prompt.toolChoice);
  const isCallRequired = prompt.toolChoice === 'required' || typeof prompt.toolChoice === 'object';
  if (isCallRequired && callable.length === 0)
    throw invalidValue('tool_choice', "names a function that is not in 'tools'");
  const shown = prompt.toolChoice === 'none' ? [] : tools.shown;
  const rendered = template.render(prompt.messages, shown, prompt.documents);
  const opensThinking = reasoningTags !== null && rendered.text.trimEnd().endsWith(reasoningTags.open);
  const beginsWithCall = isCallRequired && !opensThinking;
  // Tool calls without a marker start with the content.
  const text = beginsWithCall && toolCallFormat.bare === null ? rendered.text + toolCallFormat.begin : rendered.text;
  const tokens = await model.tokenizer.tokenizePrompt(text, rendered.mark, maxCountedTokens(model), slice);
  addBos(model, tokens);
  const names = new Set(callable.map((tool) => tool.function.name));
  const constrained = isCallRequired || format.type !== 'text';
  const syntax: OutputSyntax = {
    reasoning: opensThinking ? 'open' : reasoningTags !== null && !constrained ? 'tagged' : 'none',
    reasoningTags: reasoningTags ?? PLAIN_TEXT.reasoningTags,
    calls: callable.length === 0 ? null : { format: toolCallFormat, names, parallel: prompt.parallelToolCalls },
    beginsWithCall,
    dropsFirstSpace: prependsSpace(model),
  };
  const grammars = (
    { offered, sequence, callable: all }: ConstrainedTools,
    of: OutputFormat,
  ): Draft['grammars'][number] => {
    const allowed = selectTools(all, prompt.toolChoice);
    const rules = { format: toolCallFormat, callable: allowed, parallel: prompt.parallelToolCalls, offered, sequence };
    return {
      answerGrammar: beginsWithCall
        ? { kind: 'calls', rules }
        : answerGrammar(isCallRequired ? { type: 'text' } : of, isCallRequired, rules),
      callGrammar: allowed.length > 0 && !constrained ? { kind: 'calls', rules } : null,
    };
  };
  const isNarrowed = narrowedFormat !== undefined || toolConstraint?.parameters !== undefined;
  const requested = grammars(constrainTools(prompt.tools, toolConstraint && { tools: toolConstraint.tools }), format);
  return {
    tokens,
    syntax,
    ...markerTokens(model, syntax),
    tokenBias: biasOfCall(model, toolConstraint?.callBias),
    grammars: isNarrowed ? [grammars(tools, narrowedFormat ?? format), requested] : [requested],
  };
}

/** Null for unconstrained text. */
function answerGrammar(format: OutputFormat, isCallRequired: boolean, rules: ToolCallRules): GrammarSource | null {
  if (isTextConstraint(format) && rules.callable.length === 0) return { kind: 'format', format };
  return isCallRequired || format.type !== 'text' ? { kind: 'answer', rules, format } : null;
}

/** Returns the tools that `tool_choice` allows. */
function selectTools(tools: readonly FunctionTool[], choice: ToolChoice): readonly FunctionTool[] {
  if (choice === 'none') return [];
  return typeof choice === 'object' ? tools.filter((tool) => tool.function.name === choice.name) : tools;
}

/** Whether the tokenizer puts a space before the first word: SentencePiece does, unless the file disables it. */
function prependsSpace({ model }: LocalModel): boolean {
  const { ggml } = model.fileInfo.metadata.tokenizer;
  return model.vocabularyType === LlamaVocabularyType.spm && ggml.add_space_prefix !== false;
}

function markerTokens(
  { tokenizer, template }: LocalModel,
  syntax: OutputSyntax,
): Pick<Draft, 'allowedTokens' | 'bannedTokens'> {
  const listTokens = (texts: readonly string[]): number[] =>
    texts.map((text) => tokenizer.definedToken(text)).filter((token) => token !== null);
  const markers = listTokens(template.toolCallFormat.markers);
  const thinking = syntax.reasoning === 'none' ? [] : listTokens(Object.values(syntax.reasoningTags));
  const continues = listTokens(template.markers);
  if (syntax.calls === null) return { allowedTokens: thinking, bannedTokens: [...markers, ...continues] };
  return { allowedTokens: [...markers, ...thinking], bannedTokens: continues };
}

/** A bias of the token that starts a tool call. None where calls start with ordinary tokens. */
function biasOfCall({ tokenizer, template }: LocalModel, bias = 0): ReadonlyMap<number, number> {
  const token = tokenizer.definedToken(template.toolCallFormat.begin);
  return token === null || bias === 0 ? NO_BIAS : new Map([[token, bias]]);
}

function addBos(model: LocalModel, tokens: number[]): void {
  const { bos, shouldPrependBosToken } = model.model.tokens;
  if (bos !== null && shouldPrependBosToken && tokens[0] !== bos) tokens.unshift(bos);
  // An empty prompt cannot be continued: it is replaced by the first token of the model.
  if (tokens.length === 0) tokens.push(bos ?? model.model.tokens.eos ?? 0);
}

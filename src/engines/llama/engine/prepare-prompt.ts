import { LlamaVocabularyType } from 'node-llama-cpp';
import { contextLengthExceeded, invalidValue } from '../../../errors.ts';
import type { ChatPrompt, FunctionTool, OutputFormat, TextPrompt, ToolChoice } from '../../engine.ts';
import { type CompiledGrammar, requireAffordable } from '../constraints/decoding-constraint.ts';
import { type GrammarWish, isTextConstraint, sourceOf } from '../constraints/request-grammar.ts';
import type { AnswerForm } from '../output/output-parser.ts';
import type { CallRules } from '../tool-calls/call-grammar.ts';
import type { LocalModel } from './model.ts';
import { type ConstrainedRequest, constrainTools } from './tool-constraint.ts';

/** Characters that no prompt of so many tokens can have: a longer one is refused before it is worth any work. */
const MAX_CHARACTERS_PER_TOKEN = 256;

/** What all answers to one prompt may consist of. */
export type PromptForm = Omit<AnswerForm, 'choice' | 'stop'>;

/** A text that is continued has no form. */
const PLAIN_TEXT: PromptForm = {
  reasoning: 'none',
  thinkTags: { open: '', close: '' },
  calls: null,
  beginsWithCall: false,
  dropsFirstSpace: false,
};

/** A request as the model will see it. */
export interface Prepared {
  tokens: readonly number[];
  /** What its answers may consist of. */
  form: PromptForm;
  /** Control tokens that may come, for they have a meaning in the form. */
  allowedTokens: readonly number[];
  /** Tokens that must not come: those that begin a call, where none may be made. */
  bannedTokens: readonly number[];
  /** In force from the first token of the answer, which comes after any thinking. */
  answerGrammar: CompiledGrammar | null;
  /** In force from where the model begins a call by itself. */
  callGrammar: CompiledGrammar | null;
}

/** What a prompt and a form come to before grammars are compiled. */
interface Draft {
  tokens: number[];
  form: PromptForm;
  allowedTokens: number[];
  bannedTokens: number[];
  answerGrammar: GrammarWish | null;
  callGrammar: GrammarWish | null;
}

/** Writes, tokenises and checks a request. Throws 400 for what the model or a grammar cannot do. */
export async function preparePrompt(model: LocalModel, request: ConstrainedRequest): Promise<Prepared> {
  const { prompt } = request;
  const param = prompt.kind === 'chat' ? 'messages' : 'prompt';
  const { contextTokens } = model.facts;
  if (characters(prompt) > contextTokens * MAX_CHARACTERS_PER_TOKEN) {
    throw contextLengthExceeded(param, null, contextTokens);
  }
  for (const token of Object.keys(request.sampling.logitBias)) {
    if (!/^\d+$/.test(token) || Number(token) >= model.vocabulary.size) {
      throw invalidValue(
        `logit_bias.${token}`,
        `is no token: this model has the tokens 0 to ${model.vocabulary.size - 1}`,
      );
    }
  }
  const draft =
    prompt.kind === 'chat' ? await draftChat(model, prompt, request) : await draftText(model, prompt, request.format);
  const count = draft.tokens.length;
  if (count >= contextTokens) {
    throw contextLengthExceeded(param, count > countedTokens(model) ? null : count, contextTokens);
  }
  return {
    ...draft,
    answerGrammar: await compiled(model, draft.answerGrammar),
    callGrammar: await compiled(model, draft.callGrammar),
  };
}

/** How far a prompt that is too long is counted, so that its author hears by how much. */
function countedTokens(model: LocalModel): number {
  return 2 * model.facts.contextTokens;
}

function characters(prompt: ChatPrompt | TextPrompt): number {
  if (prompt.kind === 'text') return prompt.text.length + (prompt.suffix?.length ?? 0);
  return prompt.messages.reduce((sum, message) => sum + (message.content?.length ?? 0), 0);
}

async function compiled(model: LocalModel, wish: GrammarWish | null): Promise<CompiledGrammar | null> {
  if (wish === null) return null;
  const path = sourceOf(wish);
  const written = await model.grammars.write(wish);
  const { elements } = written;
  requireAffordable({ elements, path }, model.vocabulary);
  try {
    return { native: await model.grammar(written), elements, path };
  } catch (error) {
    const refusal = invalidValue(path, 'cannot be enforced: llama.cpp does not take the grammar made from it');
    refusal.cause = error;
    throw refusal;
  }
}

async function draftText(model: LocalModel, prompt: TextPrompt, format: OutputFormat): Promise<Draft> {
  const { vocabulary, model: llama, facts } = model;
  let tokens: number[];
  if (prompt.suffix === null) {
    // Control tokens count here: whoever sends a bare text writes the model's own format, turns included.
    tokens = await vocabulary.tokenizePrompt(prompt.text, null, countedTokens(model));
  } else {
    const { prefix, suffix, middle } = llama.tokens.infill;
    if (!facts.suffix || prefix === null || suffix === null || middle === null) {
      throw invalidValue('suffix', 'is not supported: this model has no fill-in-the-middle tokens');
    }
    const before = await vocabulary.tokenizeText(prompt.text, countedTokens(model));
    const after = await vocabulary.tokenizeText(prompt.suffix, countedTokens(model));
    // Not spread into a call: these lists may be longer than a call may have arguments.
    tokens = [prefix as number].concat(before, suffix, after, middle);
  }
  addBeginning(model, tokens);
  return {
    tokens,
    form: PLAIN_TEXT,
    allowedTokens: [],
    bannedTokens: [],
    answerGrammar: format.type === 'text' ? null : { kind: 'format', format },
    callGrammar: null,
  };
}

async function draftChat(
  model: LocalModel,
  prompt: ChatPrompt,
  { format, toolConstraint }: ConstrainedRequest,
): Promise<Draft> {
  const { template } = model;
  const { callFormat, thinkTags } = template;
  const tools = constrainTools(prompt.tools, toolConstraint);
  const { offered } = tools;
  const callable = toolsFor(tools.callable, prompt.toolChoice);
  const must = prompt.toolChoice === 'required' || typeof prompt.toolChoice === 'object';
  if (must && callable.length === 0) throw invalidValue('tool_choice', "asks for a function that is not in 'tools'");
  const shown = prompt.toolChoice === 'none' ? [] : tools.shown;
  const rendered = template.render(prompt.messages, shown, prompt.documents);
  const opensThinking = thinkTags !== null && rendered.text.trimEnd().endsWith(thinkTags.open);
  const beginsWithCall = must && !opensThinking;
  // Calls that have no marker of their own begin with the answer.
  const text = beginsWithCall && callFormat.bare === null ? rendered.text + callFormat.begin : rendered.text;
  const tokens = await model.vocabulary.tokenizePrompt(text, rendered.mark, countedTokens(model));
  addBeginning(model, tokens);
  const rules = { format: callFormat, callable, parallel: prompt.parallelToolCalls, offered };
  const names = new Set(callable.map((tool) => tool.function.name));
  const constrained = must || format.type !== 'text';
  const form: PromptForm = {
    reasoning: opensThinking ? 'open' : thinkTags !== null && !constrained ? 'tagged' : 'none',
    thinkTags: thinkTags ?? PLAIN_TEXT.thinkTags,
    calls: callable.length === 0 ? null : { format: callFormat, names, parallel: prompt.parallelToolCalls },
    beginsWithCall,
    dropsFirstSpace: addsSpace(model),
  };
  return {
    tokens,
    form,
    ...steeringTokens(model, form),
    answerGrammar: beginsWithCall
      ? { kind: 'calls', rules }
      : answerGrammar(must ? { type: 'text' } : format, must, rules),
    callGrammar: callable.length > 0 && !constrained ? { kind: 'calls', rules } : null,
  };
}

/** Null where the answer is free text. */
function answerGrammar(format: OutputFormat, must: boolean, rules: CallRules): GrammarWish | null {
  if (isTextConstraint(format) && rules.callable.length === 0) return { kind: 'format', format };
  return must || format.type !== 'text' ? { kind: 'answer', rules, format } : null;
}

/** The tools that a choice leaves. */
function toolsFor(tools: readonly FunctionTool[], choice: ToolChoice): readonly FunctionTool[] {
  if (choice === 'none') return [];
  return typeof choice === 'object' ? tools.filter((tool) => tool.function.name === choice.name) : tools;
}

/** Whether the vocabulary writes a space before the first word of a text: SentencePiece's, unless the file denies it. */
function addsSpace({ model }: LocalModel): boolean {
  const { ggml } = model.fileInfo.metadata.tokenizer;
  return model.vocabularyType === LlamaVocabularyType.spm && ggml.add_space_prefix !== false;
}

function steeringTokens(
  { vocabulary, template }: LocalModel,
  form: PromptForm,
): Pick<Draft, 'allowedTokens' | 'bannedTokens'> {
  const tokensOf = (texts: readonly string[]): number[] =>
    texts.map((text) => vocabulary.definedToken(text)).filter((token) => token !== null);
  const markers = tokensOf(template.callFormat.markers);
  const thinking = form.reasoning === 'none' ? [] : tokensOf(Object.values(form.thinkTags));
  const own = tokensOf(template.markers);
  if (form.calls === null) return { allowedTokens: thinking, bannedTokens: [...markers, ...own] };
  return { allowedTokens: [...markers, ...thinking], bannedTokens: own };
}

function addBeginning(model: LocalModel, tokens: number[]): void {
  const { bos, shouldPrependBosToken } = model.model.tokens;
  if (bos !== null && shouldPrependBosToken && tokens[0] !== bos) tokens.unshift(bos);
  // A prompt of no tokens at all gives nothing to continue: the model's own first token stands in.
  if (tokens.length === 0) tokens.push(bos ?? model.model.tokens.eos ?? 0);
}

import type { LlamaGrammar } from 'node-llama-cpp';
import { contextLengthExceeded, invalidValue } from '../../errors.ts';
import type { ChatPrompt, GenerationRequest, OutputFormat, TextPrompt } from '../engine.ts';
import type { AnswerForm } from './answer.ts';
import { GrammarBuilder, literal } from './grammar.ts';
import type { LocalModel } from './model.ts';
import { SchemaCompiler } from './schema-grammar.ts';
import { type CallFormat, callsGrammar, defineCalls, toolsFor } from './tool-calls.ts';

/** Characters that no prompt of so many tokens can have: a longer one is refused before it is worth any work. */
const MAX_CHARACTERS_PER_TOKEN = 256;
const SCHEMA_PATH = 'response_format.json_schema.schema';

/** A request as the model will see it. */
export interface Prepared {
  tokens: readonly number[];
  reasoning: AnswerForm['reasoning'];
  beginsWithCall: boolean;
  calls: AnswerForm['calls'];
  /** A token that begins a call, and must not come; null where there is none or it may come. */
  bannedToken: number | null;
  /** In force from the first token of the answer, which comes after any thinking. */
  answerGrammar: LlamaGrammar | null;
  /** In force from where the model begins a call by itself. */
  callGrammar: LlamaGrammar | null;
}

/** What a prompt and a form come to before grammars are compiled. */
interface Draft {
  tokens: number[];
  reasoning: AnswerForm['reasoning'];
  beginsWithCall: boolean;
  calls: AnswerForm['calls'];
  bannedToken: number | null;
  answerGrammar: string | null;
  callGrammar: string | null;
}

/** Writes, tokenises and checks a request. Throws 400 for what the model or a grammar cannot do. */
export async function preparePrompt(model: LocalModel, request: GenerationRequest): Promise<Prepared> {
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
    prompt.kind === 'chat' ? draftChat(model, prompt, request.format) : draftText(model, prompt, request.format);
  if (draft.tokens.length >= contextTokens) throw contextLengthExceeded(param, draft.tokens.length, contextTokens);
  return {
    ...draft,
    answerGrammar: await compiled(
      model,
      draft.answerGrammar,
      prompt.kind === 'chat' && draft.beginsWithCall ? 'tools' : SCHEMA_PATH,
    ),
    callGrammar: await compiled(model, draft.callGrammar, 'tools'),
  };
}

function characters(prompt: ChatPrompt | TextPrompt): number {
  if (prompt.kind === 'text') return prompt.text.length + (prompt.suffix?.length ?? 0);
  return prompt.messages.reduce((sum, message) => sum + (message.content?.length ?? 0), 0);
}

async function compiled(model: LocalModel, grammar: string | null, path: string): Promise<LlamaGrammar | null> {
  if (grammar === null) return null;
  try {
    return await model.grammar(grammar);
  } catch (error) {
    const refusal = invalidValue(path, 'cannot be enforced: llama.cpp does not take the grammar made from it');
    refusal.cause = error;
    throw refusal;
  }
}

function draftText(model: LocalModel, prompt: TextPrompt, format: OutputFormat): Draft {
  const { vocabulary, model: llama, facts } = model;
  let tokens: number[];
  if (prompt.suffix === null) {
    // Control tokens count here: whoever sends a bare text writes the model's own format, turns included.
    tokens = vocabulary.tokenizePrompt(prompt.text, null);
  } else {
    const { prefix, suffix, middle } = llama.tokens.infill;
    if (!facts.suffix || prefix === null || suffix === null || middle === null) {
      throw invalidValue('suffix', 'is not supported: this model has no fill-in-the-middle tokens');
    }
    const [before, after] = [vocabulary.tokenizePlain(prompt.text), vocabulary.tokenizePlain(prompt.suffix)];
    // Not spread into a call: these lists may be longer than a call may have arguments.
    tokens = [prefix as number].concat(before, suffix, after, middle);
  }
  addBeginning(model, tokens);
  const builder = new GrammarBuilder();
  const answer = formatRule(builder, format);
  return {
    tokens,
    reasoning: 'none',
    beginsWithCall: false,
    calls: null,
    bannedToken: null,
    answerGrammar: answer === null ? null : builder.text(answer),
    callGrammar: null,
  };
}

function draftChat(model: LocalModel, prompt: ChatPrompt, format: OutputFormat): Draft {
  const { template, vocabulary } = model;
  const { callFormat } = template;
  const callable = toolsFor(prompt.tools, prompt.toolChoice);
  const must = prompt.toolChoice === 'required' || typeof prompt.toolChoice === 'object';
  if (must && callable.length === 0) throw invalidValue('tool_choice', "asks for a function that is not in 'tools'");
  const shown = prompt.toolChoice === 'none' ? [] : prompt.tools;
  const rendered = template.render(prompt.messages, shown);
  const opensThinking = /<think>\s*$/.test(rendered.text);
  const beginsWithCall = must && !opensThinking;
  const text = beginsWithCall ? rendered.text + callFormat.begin + callFormat.open : rendered.text;
  const tokens = vocabulary.tokenizePrompt(text, rendered.mark);
  addBeginning(model, tokens);
  const names = new Set(callable.map((tool) => tool.function.name));
  const form = { format: callFormat, parallel: prompt.parallelToolCalls, offered: prompt.tools };
  const calls = callable.length === 0 ? null : { format: callFormat, names, parallel: prompt.parallelToolCalls };
  const constrained = must || format.type !== 'text';
  return {
    tokens,
    reasoning: opensThinking ? 'open' : template.thinks && !constrained ? 'tagged' : 'none',
    beginsWithCall,
    calls,
    bannedToken: calls === null ? vocabulary.definedToken(callFormat.begin) : null,
    answerGrammar: beginsWithCall
      ? callsGrammar(callable, form)
      : constrained
        ? answerGrammar({ callable, form, must, format, callFormat })
        : null,
    callGrammar: callable.length > 0 && !constrained ? callsGrammar(callable, form) : null,
  };
}

/** The grammar of an answer that is in the wanted format, or calls, or must be calls but begins by itself. */
function answerGrammar(wanted: {
  callable: ReturnType<typeof toolsFor>;
  form: Parameters<typeof defineCalls>[2];
  must: boolean;
  format: OutputFormat;
  callFormat: CallFormat;
}): string {
  const builder = new GrammarBuilder();
  const ways: string[] = [];
  if (!wanted.must) {
    const rule = formatRule(builder, wanted.format);
    if (rule !== null) ways.push(rule);
  }
  if (wanted.callable.length > 0) {
    ways.push(`${literal(wanted.callFormat.begin)} ${defineCalls(builder, wanted.callable, wanted.form)}`);
  }
  return builder.text(builder.define('answer', `${builder.json('ws')} (${ways.join(' | ')})`, SCHEMA_PATH));
}

function formatRule(builder: GrammarBuilder, format: OutputFormat): string | null {
  if (format.type === 'text') return null;
  if (format.type === 'json_object') return builder.json('object');
  return new SchemaCompiler(builder, format.schema, SCHEMA_PATH).compile();
}

function addBeginning(model: LocalModel, tokens: number[]): void {
  const { bos, shouldPrependBosToken } = model.model.tokens;
  if (bos !== null && shouldPrependBosToken && tokens[0] !== bos) tokens.unshift(bos);
  // A prompt of no tokens at all gives nothing to continue: the model's own first token stands in.
  if (tokens.length === 0) tokens.push(bos ?? model.model.tokens.eos ?? 0);
}

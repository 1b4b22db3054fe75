import type { OutputFormat } from '../engine.ts';
import { type CallRules, callsGrammar, defineCalls } from './calls/call-grammar.ts';
import { GrammarBuilder, literal, oneOf } from './grammar.ts';
import { SchemaCompiler } from './schema-grammar.ts';

/** Where a request's schema stands in its body. */
export const SCHEMA_PATH = 'response_format.json_schema.schema';

/** What a grammar is to allow. Plain data: it goes to another thread, and stands for its grammar in a cache. */
export type GrammarWish =
  /** An answer in a format. */
  | { kind: 'format'; format: Exclude<OutputFormat, { type: 'text' }> }
  /** What follows the beginning of a call. */
  | { kind: 'calls'; rules: CallRules }
  /** An answer that is in the format or calls; with a format of text, one that calls but begins by itself. */
  | { kind: 'answer'; rules: CallRules; format: OutputFormat }
  /** One of these texts. */
  | { kind: 'texts'; texts: readonly string[] };

/** The grammar in llama.cpp's language. Pure. Throws 400 with the path of what cannot be enforced. */
export function writeGrammar(wish: GrammarWish): string {
  if (wish.kind === 'calls') return callsGrammar(wish.rules);
  const builder = new GrammarBuilder();
  if (wish.kind === 'texts') return builder.text(builder.define('text', oneOf(wish.texts), 'messages'));
  const rule = formatRule(builder, wish.format);
  if (wish.kind === 'format') return builder.text(rule ?? builder.json('value'));
  const ways = rule === null ? [] : [rule];
  if (wish.rules.callable.length > 0) {
    const { begin, bare } = wish.rules.format;
    const calls = defineCalls(builder, wish.rules);
    ways.push(bare === null ? `${literal(begin)} ${calls}` : calls);
  }
  return builder.text(builder.define('answer', `${builder.json('ws')} (${ways.join(' | ')})`, SCHEMA_PATH));
}

function formatRule(builder: GrammarBuilder, format: OutputFormat): string | null {
  if (format.type === 'text') return null;
  if (format.type === 'json_object') return builder.json('object');
  return new SchemaCompiler(builder, format.schema, SCHEMA_PATH).compile();
}

/** The field of the request that a grammar is made from. */
export function sourceOf(wish: GrammarWish): string {
  if (wish.kind === 'texts') return 'messages';
  return wish.kind === 'calls' ? 'tools' : SCHEMA_PATH;
}

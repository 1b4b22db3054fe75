import {
  automatonRule,
  type FactoredGrammar,
  factorGrammar,
  GrammarBuilder,
  isEmpty,
  literal,
  literalAlternatives,
  patternLanguage,
  SchemaCompiler,
  UnsupportedSchemaError,
  withErrorPath,
} from '@quire/json-schema-grammar';
import { invalidValue } from '../../../errors.ts';
import type { OutputFormat, TextConstraint } from '../../engine.ts';
import { callsGrammar, defineCalls, type ToolCallRules } from '../tool-calls/call-grammar.ts';

/** Default path of the schema in the request body. */
const SCHEMA_PATH = 'response_format.json_schema.schema';
const FORMAT_PATH = 'response_format';

/** Source of a grammar. Plain data: it is sent to another thread and is the cache key of its grammar. */
export type GrammarSource =
  /** A completion in an output format. */
  | { kind: 'format'; format: Exclude<OutputFormat, { type: 'text' }> }
  /** The text behind the marker that starts tool calls. */
  | { kind: 'calls'; rules: ToolCallRules }
  /**
   * A completion in an output format, or tool calls. With a text format: only tool calls, which the model starts
   * itself.
   */
  | { kind: 'answer'; rules: ToolCallRules; format: OutputFormat };

/** Builds the grammar. Pure. Throws 400 with the path of what cannot be enforced. */
export function buildGrammar(source: GrammarSource): FactoredGrammar {
  try {
    return factorGrammar(grammarText(source), grammarParam(source));
  } catch (error) {
    if (error instanceof UnsupportedSchemaError) throw invalidValue(error.path, error.predicate);
    throw error;
  }
}

function grammarText(source: GrammarSource): string {
  if (source.kind === 'calls') return callsGrammar(source.rules);
  if (source.format.type === 'grammar') {
    if (source.kind === 'format') return source.format.grammar;
    throw invalidValue(FORMAT_PATH, 'of type grammar cannot be combined with tools');
  }
  const builder = new GrammarBuilder();
  const rule = formatRule(builder, source.format);
  if (source.kind === 'format') return builder.text(rule ?? builder.json('value'));
  const ways = rule === null ? [] : [rule];
  if (source.rules.callable.length > 0) {
    const { begin, bare } = source.rules.format;
    const calls = defineCalls(builder, source.rules);
    ways.push(bare === null ? `${literal(begin)} ${calls}` : calls);
  }
  // A constraint on plain text defines its own white space.
  const space = isTextConstraint(source.format) ? '' : builder.json('ws');
  return builder.text(
    builder.define('answer', `${space} (${ways.join(' | ')})`.trimStart(), schemaPath(source.format)),
  );
}

function formatRule(builder: GrammarBuilder, format: OutputFormat): string | null {
  if (format.type === 'text') return null;
  if (format.type === 'json_object') return builder.json('object');
  if (format.type === 'choice') return builder.define('choice', literalAlternatives(format.choices), FORMAT_PATH);
  if (format.type === 'regex') return builder.define('regex', regexRule(builder, format.pattern), FORMAT_PATH);
  if (format.type === 'grammar') throw new Error('a grammar cannot be combined with other rules');
  return new SchemaCompiler(builder, format.schema, schemaPath(format)).compile();
}

/** Whether a format constrains plain text. */
export function isTextConstraint(format: OutputFormat): format is TextConstraint {
  return format.type === 'choice' || format.type === 'regex' || format.type === 'grammar';
}

function regexRule(builder: GrammarBuilder, pattern: string): string {
  const language = withErrorPath(FORMAT_PATH, () => patternLanguage(`^(?:${pattern})$`));
  if (isEmpty(language)) throw invalidValue(FORMAT_PATH, 'matches no text');
  return automatonRule(builder, language, { spelling: 'plain', path: FORMAT_PATH });
}

/** Returns the request field that a grammar is made from. */
export function grammarParam(source: GrammarSource): string {
  if (source.kind === 'calls') return 'tools';
  return isTextConstraint(source.format) ? FORMAT_PATH : schemaPath(source.format);
}

/** Returns the path of the schema of a format in the request body. */
export function schemaPath(format: OutputFormat): string {
  return (format.type === 'json_schema' ? format.path : undefined) ?? SCHEMA_PATH;
}

import { GrammarBuilder, literal, SchemaCompiler } from '@quire/json-schema-grammar';
import type { FunctionTool } from '../../engine.ts';
import type { FormatPart, ToolCallFormat } from './call-format.ts';

/** The calls that a grammar allows. `offered`: the tool list of the request, in which error paths count. */
export interface ToolCallRules {
  format: ToolCallFormat;
  callable: readonly FunctionTool[];
  /** Whether several calls are allowed. */
  parallel: boolean;
  offered: readonly FunctionTool[];
  /** Exactly these calls in this order, instead of any calls of `callable`. */
  sequence?: readonly FunctionTool[] | undefined;
}

/** Length of a generated call id, as in Mistral's format. */
const ID_CHARACTERS = 9;

/**
 * Adds rules for the text behind a format's `begin`: one call, or several if `parallel`, each with arguments that match
 * the schema of its function; or those of `sequence`. Returns the name of the rule. Throws 400 for a schema that cannot
 * be enforced.
 */
export function defineCalls(builder: GrammarBuilder, rules: ToolCallRules): string {
  const { format, callable, parallel, offered, sequence } = rules;
  const write = (parts: readonly FormatPart[], name = ''): string =>
    parts.map((part) => expression(builder, part, name)).join(' ');
  const bodies = (sequence ?? callable).map((tool) => {
    const index = offered.findIndex((other) => other.function.name === tool.function.name);
    const path = `tools.${index}.function.parameters`;
    const argumentsName = builder.define(builder.freshName('arguments'), argumentsRule(builder, tool, path), path);
    const body = [write(format.head, tool.function.name), builder.json('sp'), argumentsName, write(format.tail)];
    return builder.define(builder.freshName('call'), body.join(' '), path);
  });
  if (sequence !== undefined) {
    const calls = bodies.map((body) => `${body} ${write(format.close)}`).join(` ${write(format.between)} `);
    return builder.define('calls', `${write(format.open)} ${calls} ${write(format.end)}`, 'tools');
  }
  const call = builder.define('call', `(${bodies.join(' | ')}) ${write(format.close)}`, 'tools');
  const more = parallel ? ` (${write(format.between)} ${call})*` : '';
  return builder.define('calls', `${write(format.open)} ${call}${more} ${write(format.end)}`, 'tools');
}

/** Returns the grammar of the text behind a format's `begin`. */
export function callsGrammar(rules: ToolCallRules): string {
  const builder = new GrammarBuilder();
  return builder.text(defineCalls(builder, rules));
}

function expression(builder: GrammarBuilder, part: FormatPart, name: string): string {
  if (part.kind === 'space') return part.rule === null ? '""' : builder.json(part.rule);
  if (part.kind === 'text') return literal(part.texts[0] ?? '');
  if (part.kind === 'name') return literal(part.quoted ? JSON.stringify(name) : name);
  if (part.kind === 'id') return `[a-zA-Z0-9]{${ID_CHARACTERS}}`;
  return `(${part.parts.map((inner) => expression(builder, inner, name)).join(' ')})?`;
}

/** Keywords that add members to an object or constrain them. */
const OPENING = [
  '$ref',
  'allOf',
  'anyOf',
  'oneOf',
  'if',
  'not',
  'patternProperties',
  'dependentSchemas',
  'propertyNames',
];

function argumentsRule(builder: GrammarBuilder, tool: FunctionTool, path: string): string {
  const parameters = tool.function.parameters ?? { type: 'object', properties: {} };
  const schema = { ...parameters };
  // Arguments are an object, whether the schema says so or not.
  if (schema['type'] === undefined && schema['$ref'] === undefined) schema['type'] = 'object';
  // Where properties are listed the model generates no others: they would be invented, and weak models would not stop.
  if (schema['properties'] !== undefined && !OPENING.some((keyword) => keyword in schema)) {
    schema['additionalProperties'] ??= false;
  }
  return new SchemaCompiler(builder, schema, path).compile();
}

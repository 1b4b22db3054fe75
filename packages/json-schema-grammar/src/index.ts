/** JSON Schema to GBNF, the grammar language of llama.cpp. Start with `compileSchema`. */
export { compileSchema } from './compile-schema.ts';
export type { GrammarElements } from './gbnf/elements.ts';
export { type FactoredGrammar, factorGrammar } from './gbnf/factored-grammar.ts';
export { ParseStacks, type TextPosition } from './gbnf/parse-stacks.ts';
export { GrammarBuilder, literal, literalAlternatives } from './grammar.ts';
export { isEmpty } from './schema/automaton.ts';
export { automatonRule } from './schema/automaton-grammar.ts';
export { withErrorPath } from './schema/bounds.ts';
export { type Pattern, PatternError, parsePattern } from './schema/pattern.ts';
export { patternLanguage } from './schema/pattern-language.ts';
export { SchemaCompiler } from './schema-grammar.ts';
export { UnsupportedSchemaError } from './unsupported-schema-error.ts';

import { factorGrammar } from './gbnf/factored-grammar.ts';
import { GrammarBuilder } from './grammar.ts';
import { SchemaCompiler } from './schema-grammar.ts';

/**
 * Compiles a JSON schema to a GBNF grammar with the start rule `root`: every text that it accepts is JSON that the
 * schema accepts. Throws an `UnsupportedSchemaError` with the path of a keyword that a grammar cannot enforce. `path`:
 * how errors name the schema.
 */
export function compileSchema(schema: unknown, path = 'schema'): string {
  const builder = new GrammarBuilder();
  return factorGrammar(builder.text(new SchemaCompiler(builder, schema, path).compile()), path).text;
}

import { type Pattern, PatternError, parsePattern } from '@quire/json-schema-grammar';
import { invalidValue } from '../../../errors.ts';
import { type GrammarSource, schemaPath } from './request-grammar.ts';

/**
 * Limits of the schemas of one grammar: characters as JSON, nested schemas, and nodes of their patterns with
 * repetitions expanded. The largest schemas of JSONSchemaBench have 914,761, 5,015 and 4,113.
 */
const MAX_CHARACTERS = 2 * 1024 * 1024;
const MAX_SCHEMAS = 20_000;
const MAX_PATTERN_NODES = 20_000;

/** Keywords whose values are data, not schemas. */
const DATA_KEYWORDS = new Set(['enum', 'const', 'default', 'examples']);

/** Throws 400 with the path of the keyword that makes a grammar too large to compile. Takes milliseconds. */
export function requireReasonableSize(source: GrammarSource): void {
  const size = { schemas: 0, patternNodes: 0 };
  for (const { schema, path } of listSchemas(source)) {
    const characters = JSON.stringify(schema).length;
    if (characters > MAX_CHARACTERS) throw tooLarge(path, `${characters} characters; at most ${MAX_CHARACTERS}`);
    addSizes(schema, path, size);
  }
}

function listSchemas(source: GrammarSource): { schema: unknown; path: string }[] {
  const format = source.kind === 'calls' ? null : source.format;
  const schemas =
    format?.type === 'json_schema' ? [{ schema: format.schema as unknown, path: schemaPath(format) }] : [];
  if (source.kind === 'format') return schemas;
  const { offered, callable } = source.rules;
  for (const tool of callable) {
    const index = offered.findIndex((other) => other.function.name === tool.function.name);
    schemas.push({ schema: tool.function.parameters ?? {}, path: `tools.${index}.function.parameters` });
  }
  return schemas;
}

function addSizes(schema: unknown, path: string, size: { schemas: number; patternNodes: number }): void {
  const open = [{ value: schema, at: path }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, at } = next;
    if (typeof value !== 'object' || value === null) continue;
    if (!Array.isArray(value)) size.schemas += 1;
    if (size.schemas > MAX_SCHEMAS) throw tooLarge(at, `more than ${MAX_SCHEMAS} nested schemas`);
    for (const [keyword, inner] of Object.entries(value)) {
      if (keyword === 'pattern' && typeof inner === 'string') size.patternNodes += patternNodes(inner);
      if (size.patternNodes > MAX_PATTERN_NODES) {
        throw tooLarge(`${at}.${keyword}`, 'patterns with too many repetitions in total');
      }
      if (!DATA_KEYWORDS.has(keyword)) open.push({ value: inner, at: `${at}.${keyword}` });
    }
  }
}

const tooLarge = (path: string, reason: string) => invalidValue(path, `is too large to be enforced: ${reason}`);

/** Nodes of a pattern; 0 for one that is rejected later, with its reason. */
function patternNodes(source: string): number {
  try {
    return countNodes(parsePattern(source));
  } catch (error) {
    if (error instanceof PatternError) return 0;
    throw error;
  }
}

function countNodes(pattern: Pattern): number {
  switch (pattern.kind) {
    case 'sequence':
    case 'choice':
      return pattern.parts.reduce((sum, part) => sum + countNodes(part), 1);
    case 'repeat':
      return countNodes(pattern.part) * Math.max(1, pattern.most ?? pattern.least);
    case 'ahead':
      return countNodes(pattern.part);
    default:
      return 1;
  }
}

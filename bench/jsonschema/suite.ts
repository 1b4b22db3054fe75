import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { constrainJson } from '@quire/bundled-models';
import type { FactoredGrammar } from '@quire/json-schema-grammar';
import type { Llama } from 'node-llama-cpp';
import type { ChatPrompt, OutputFormat } from '../../src/engines/engine.ts';
import { buildGrammar } from '../../src/engines/llama/constraints/request-grammar.ts';
import { ApiError } from '../../src/errors.ts';
import { randomNumbers, sampleText } from '../../test/fixtures/grammar-sampler.ts';
import { onlyRepeatsItems, validator } from './validate.ts';

type Schema = Record<string, unknown>;
type JsonSchemaFormat = Extract<OutputFormat, { type: 'json_schema' }>;

/** A group of the suite. */
interface Group {
  description: string;
  schema: Schema | boolean;
  tests: readonly { description: string; data: unknown; valid: boolean }[];
}

/** Outcomes of one engine. */
export interface SuiteSheet {
  schemas: number;
  enforced: number;
  rejected: number;
  /** Schemas without an output that Ajv or the suite rejects, but for repeated items that are not enumerated. */
  repeatedItems: string[];
  /** Schemas that are violated, or rejected without a keyword. */
  violated: string[];
}

const DRAFTS: Readonly<Record<string, string>> = {
  draft3: 'http://json-schema.org/draft-03/schema#',
  draft4: 'http://json-schema.org/draft-04/schema#',
  draft6: 'http://json-schema.org/draft-06/schema#',
  draft7: 'http://json-schema.org/draft-07/schema#',
  'draft2019-09': 'https://json-schema.org/draft/2019-09/schema',
  'draft2020-12': 'https://json-schema.org/draft/2020-12/schema',
};
const SAMPLES = 20;
const PATH = 'response_format.json_schema.schema';
const PROMPT: ChatPrompt = {
  kind: 'chat',
  messages: [{ role: 'user', content: 'Tom has 3 apples, 4 pears and "a line".' }],
  tools: [],
  toolChoice: 'none',
  parallelToolCalls: false,
};

/**
 * Compiles every schema of a clone of JSON-Schema-Test-Suite for the llama engine and for the bundled model. Each is
 * enforced, so that llama.cpp accepts none of its invalid instances and random outputs are valid, or is rejected with
 * the path of a keyword.
 */
export function judgeSuite(folder: string, llama: Llama): Promise<Record<'llama' | 'bundled', SuiteSheet>> {
  return judgeGroups(readGroups(folder), llama);
}

async function judgeGroups(groups: readonly { name: string; group: Group; draft: string }[], llama: Llama) {
  const sheets = { llama: emptySheet(), bundled: emptySheet() };
  for (const { name, group, draft } of groups) {
    // The API takes objects only.
    const schema = typeof group.schema === 'boolean' ? { allOf: [group.schema] } : group.schema;
    const format: JsonSchemaFormat = { type: 'json_schema', name: 'x', strict: true, schema };
    const wide = compile(format);
    const narrow = compile(constrainJson(PROMPT, format, 512));
    for (const [engine, grammar] of [
      ['llama', wide],
      ['bundled', 'text' in narrow ? narrow : wide],
    ] as const) {
      const sheet = sheets[engine];
      sheet.schemas += 1;
      sheet[grammar instanceof ApiError ? 'rejected' : 'enforced'] += 1;
      const found =
        grammar instanceof ApiError
          ? namesKeyword(grammar)
            ? null
            : 'names no keyword'
          : await findViolation(grammar, { ...group, schema: { $schema: DRAFTS[draft], ...schema } }, llama);
      if (found === null) continue;
      const list = found === 'repeats items' ? sheet.repeatedItems : sheet.violated;
      list.push(`${name}: ${group.description}: ${found}`);
    }
  }
  return sheets;
}

const emptySheet = (): SuiteSheet => ({ schemas: 0, enforced: 0, rejected: 0, repeatedItems: [], violated: [] });

function readGroups(folder: string): { name: string; group: Group; draft: string }[] {
  return Object.keys(DRAFTS).flatMap((draft) =>
    readdirSync(join(folder, 'tests', draft))
      .filter((name) => name.endsWith('.json'))
      .flatMap((name) => {
        const groups = JSON.parse(readFileSync(join(folder, 'tests', draft, name), 'utf8')) as Group[];
        return groups.map((group) => ({ name: `${draft}/${name}`, group, draft }));
      }),
  );
}

function compile(format: OutputFormat): FactoredGrammar | ApiError {
  try {
    return buildGrammar({ kind: 'format', format: format as JsonSchemaFormat });
  } catch (error) {
    if (error instanceof ApiError && error.status === 400) return error;
    throw error;
  }
}

/** Whether an error names a keyword or a schema, the root among them. */
const namesKeyword = ({ param, code }: ApiError): boolean =>
  code === 'invalid_value' && param?.startsWith(PATH) === true;

/** Returns how a schema is violated; null when it is not. */
async function findViolation({ text, elements }: FactoredGrammar, group: Group, llama: Llama): Promise<string | null> {
  const schema = group.schema as Schema;
  const grammar = (await llama.createGrammar({ grammar: text })) as unknown as { _testText(text: string): boolean };
  const describe = (kind: string, value: unknown): string =>
    onlyRepeatsItems(schema, value) ? 'repeats items' : `${kind} ${JSON.stringify(value)}`;
  const accepted = group.tests.find(({ data, valid }) => !valid && grammar._testText(JSON.stringify(data)));
  if (accepted !== undefined) return describe('accepts', accepted.data);
  const check = validator(schema);
  if (check === null) return null;
  for (let seed = 1; seed <= SAMPLES; seed++) {
    const sample = sampleText(elements, 3 * seed, randomNumbers(seed * 7_919));
    if (sample === null) return null;
    const value: unknown = JSON.parse(sample);
    if (!check(value)) return describe('generates', value);
  }
  return null;
}

/**
 * Compares the properties of our schemas with those of OpenAI's specification. `node tools/openai-comparison.ts SPEC.yaml.gz` writes
 * docs/openai-compatibility.md; every property that is missing on one side needs its reason in tools/openai-differences.json.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { parse } from 'yaml';

type Schema = {
  $ref?: string;
  properties?: Record<string, Schema>;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
};

interface Description {
  components: { schemas: Record<string, Schema> };
}

/** Reasons by schema of OpenAI and property; `*` covers a property of every schema. */
type Reasons = Record<string, Record<string, string>>;

/** A property that only one side has. */
export interface Difference {
  theirs: string;
  property: string;
  side: 'OpenAI only' | 'Quire only';
  reason: string | null;
}

/** Schemas of OpenAI with ours. */
const PAIRS: Readonly<Record<string, string>> = {
  CreateChatCompletionRequest: 'ChatRequest',
  CreateChatCompletionResponse: 'ChatCompletion',
  CreateChatCompletionStreamResponse: 'ChatCompletionChunk',
  CreateCompletionRequest: 'CompletionRequest',
  CreateCompletionResponse: 'Completion',
  CreateEmbeddingRequest: 'EmbeddingsRequest',
  CreateEmbeddingResponse: 'EmbeddingsResponse',
  CreateModerationRequest: 'ModerationRequest',
  CreateModerationResponse: 'ModerationResponse',
  CompletionUsage: 'Usage',
  OpenAIFile: 'File',
  Batch: 'Batch',
  Model: 'Model',
  CreateResponse: 'CreateResponse',
  Response: 'ResponseResource',
};

const OURS = new URL('../docs/openapi.json', import.meta.url);
const REASONS = new URL('./openai-differences.json', import.meta.url);
const PAGE = new URL('../docs/openai-compatibility.md', import.meta.url);

/** Lists the properties that one side lacks. `path` is OpenAI's specification, compressed YAML. */
export function compareWithOpenAi(path: string): Difference[] {
  const theirs = parse(gunzipSync(readFileSync(path)).toString()) as Description;
  const ours = JSON.parse(readFileSync(OURS, 'utf8')) as Description;
  const reasons = JSON.parse(readFileSync(REASONS, 'utf8')) as Reasons;
  return Object.entries(PAIRS).flatMap(([name, own]) => {
    const left = propertyNames(theirs, { $ref: `#/components/schemas/${name}` });
    const right = propertyNames(ours, { $ref: `#/components/schemas/${own}` });
    const differ = (from: Set<string>, to: Set<string>, side: Difference['side']) =>
      [...from]
        .filter((property) => !to.has(property))
        .map((property) => {
          const reason = reasons[name]?.[property] ?? reasons['*']?.[property] ?? null;
          return { theirs: name, property, side, reason };
        });
    return [...differ(left, right, 'OpenAI only'), ...differ(right, left, 'Quire only')];
  });
}

/** Names of the properties of a schema, through references and compositions. */
function propertyNames(description: Description, schema: Schema): Set<string> {
  const { $ref: reference, properties = {}, allOf = [], anyOf = [], oneOf = [] } = schema;
  const named = reference === undefined ? undefined : description.components.schemas[reference.split('/').at(-1) ?? ''];
  const parts = [...(named === undefined ? [] : [named]), ...allOf, ...anyOf, ...oneOf];
  return new Set([...Object.keys(properties), ...parts.flatMap((part) => [...propertyNames(description, part)])]);
}

function renderPage(differences: readonly Difference[]): string {
  const sections = Object.entries(PAIRS).map(([name, own]) => {
    const rows = differences.filter(({ theirs }) => theirs === name);
    const lines = rows.map(({ property, side, reason }) => `| \`${property}\` | ${side} | ${reason ?? ''} |`);
    const table = ['| Property | Side | Reason |', '| --- | --- | --- |', ...lines].join('\n');
    return `## ${own}\n\n${name} of OpenAI.${rows.length === 0 ? ' No difference.' : `\n\n${table}`}\n`;
  });
  return `# Differences from OpenAI's API\n\nTop-level properties of each schema, compared with OpenAI's specification by \`tools/openai-comparison.ts\`.\n\n${sections.join('\n')}`;
}

if (import.meta.main) {
  const [path] = process.argv.slice(2);
  if (path === undefined) throw new Error('Usage: node tools/openai-comparison.ts SPEC.yaml.gz');
  const differences = compareWithOpenAi(path);
  writeFileSync(PAGE, renderPage(differences));
  const open = differences.filter(({ reason }) => reason === null);
  for (const { theirs, property, side } of open) console.log(`${theirs}.${property}: ${side}, without a reason`);
  process.exitCode = open.length === 0 ? 0 : 1;
}

/**
 * Compares every property of our API with OpenAI's, by operation and path.
 *
 * `node tools/openai/comparison.ts SPEC.yaml.gz` reads OpenAI's specification, writes `specification.json` (the paths
 * of its properties with their types, and nothing else of its text), and prints the differences without a reason.
 * `npm run generate` writes the page.
 *
 * Every difference needs a reason in `differences.json`. Its patterns are `PLACE PATH` with `*` for any text.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { parse } from 'yaml';
import { compareProperties, type Difference } from './compare.ts';
import { type Description, listOperations, listPlaces, ourOperations } from './operations.ts';
import { decodeProperties, encodeProperties, listProperties } from './properties.ts';

/** Facts about OpenAI's specification: operations of our groups, and properties by place. */
interface Specification {
  operations: string[];
  places: Record<string, Record<string, string>>;
}

/** A reason with the patterns of the differences or of the missing operations that it covers. */
interface Reason {
  reason: string;
  /** Quire's contract requires the difference, or OpenAI's API differs from its own specification in the same way. */
  intended?: boolean;
  differences?: string[];
  operations?: string[];
}

/** Everything that differs, with its reason; null when it has none. */
export interface Comparison {
  differences: (Difference & { place: string; reason: string | null })[];
  operations: { operation: string; reason: string | null }[];
  /** Patterns of differences.json that cover nothing. */
  unused: string[];
}

const OURS = new URL('../../docs/openapi.json', import.meta.url);
const SPECIFICATION = new URL('specification.json', import.meta.url);
const REASONS = new URL('differences.json', import.meta.url);

const INTRODUCTION = `# Differences from OpenAI's API

Every property of the operations that both have, at every depth, compared with OpenAI's specification by
\`tools/openai/comparison.ts\`. An object that several operations return is listed once. A property that only one side has stands for
everything below it.

- *OpenAI only*, *Quire only*: the other side has no such property.
- In requests, *not accepted*, *null is rejected*, *required*: OpenAI's API accepts it, Quire does not.
- In responses, *additional*, *can be null*, *can be absent*: Quire sends it, OpenAI's specification does not expect it.
- *Intended*: Quire's contract requires the difference, or OpenAI's API differs from its own specification in the same way. \`npm run conformance\`
  counts the others.
`;

const readJson = (file: URL): unknown => JSON.parse(readFileSync(file, 'utf8'));

/** Reads OpenAI's specification, compressed YAML, and returns the facts that are compared. */
export function readSpecification(path: string): Specification {
  const theirs = parse(gunzipSync(readFileSync(path)).toString()) as Description;
  const ours = readJson(OURS) as Description;
  const theirPlaces = listPlaces(theirs, '/v1');
  const places: Specification['places'] = {};
  const seen = new Set<string>();
  for (const { place, direction, schema } of listPlaces(ours, '').values()) {
    // OpenAI describes the chunks of a streamed completion as the completion.
    const counterpart = theirPlaces.get(place) ?? theirPlaces.get(place.replace(/ stream$/, ' response'));
    // Several operations return the same object; the first one stands for all.
    const key = `${direction} ${schema.$ref ?? place}`;
    if (counterpart === undefined || seen.has(key)) continue;
    seen.add(key);
    const guide = listProperties(schema, ours.components.schemas);
    places[place] = encodeProperties(listProperties(counterpart.schema, theirs.components.schemas, guide));
  }
  return { operations: listOperations(theirs), places };
}

/** The stored facts of OpenAI's specification. */
export const storedSpecification = (): Specification => readJson(SPECIFICATION) as Specification;

/** Compares our API with the facts of OpenAI's specification. */
export function compareWithOpenAi(specification: Specification): Comparison {
  const ours = readJson(OURS) as Description;
  const reasons = loadReasons();
  const ourPlaces = listPlaces(ours, '');
  const differences = Object.entries(specification.places).flatMap(([place, properties]) => {
    const own = ourPlaces.get(place);
    if (own === undefined) return [];
    const listed = listProperties(own.schema, ours.components.schemas);
    const found = compareProperties(decodeProperties(properties), listed, own.direction);
    return found.map((each) => ({ ...each, place, reason: reasons.find('differences', `${place} ${each.path}`) }));
  });
  const implemented = ourOperations(ours);
  const operations = specification.operations
    .filter((operation) => !implemented.has(operation))
    .map((operation) => ({ operation, reason: reasons.find('operations', operation) }));
  return { differences, operations, unused: reasons.unused() };
}

/** The reasons of `differences.json`. */
export const loadReasons = (): Reasons => new Reasons(readJson(REASONS) as Reason[]);

/** The first reason with a matching pattern counts. */
class Reasons {
  readonly #patterns: { text: string; kind: 'differences' | 'operations'; reason: Reason; expression: RegExp }[];
  readonly #used = new Set<string>();

  constructor(reasons: readonly Reason[]) {
    this.#patterns = reasons.flatMap((reason) =>
      (['differences', 'operations'] as const).flatMap((kind) =>
        (reason[kind] ?? []).map((text) => ({ text, kind, reason, expression: patternExpression(text) })),
      ),
    );
  }

  find(kind: 'differences' | 'operations', subject: string): string | null {
    const pattern = this.#match(kind, subject);
    if (pattern === undefined) return null;
    this.#used.add(pattern.text);
    const { reason, intended = false } = pattern.reason;
    return intended ? `${reason} _Intended._` : reason;
  }

  /** Whether the difference at `PLACE PATH` is intended; see `Reason`. */
  isIntended(subject: string): boolean {
    return this.#match('differences', subject)?.reason.intended === true;
  }

  #match(kind: 'differences' | 'operations', subject: string) {
    return this.#patterns.find((pattern) => pattern.kind === kind && pattern.expression.test(subject));
  }

  unused(): string[] {
    return this.#patterns.map(({ text }) => text).filter((text) => !this.#used.has(text));
  }
}

/** `*` stands for any text. */
function patternExpression(pattern: string): RegExp {
  const escaped = pattern.split('*').map((text) => text.replace(/[.[\]{}()/]/g, '\\$&'));
  return new RegExp(`^${escaped.join('.*')}$`);
}

/** The text of docs/use/openai-compatibility.md: one table for each place, one row for each reason. */
export function compatibilityPage(): string {
  const { differences, operations } = compareWithOpenAi(storedSpecification());
  const sections = [...Map.groupBy(differences, ({ place }) => place)].map(([place, rows]) => {
    const lines = [...Map.groupBy(rows, ({ reason }) => reason)].map(([reason, grouped]) => {
      const cells = grouped.map(({ path, kind }) => `\`${path}\` (${kind})`);
      return `| ${cells.join('<br>')} | ${reason ?? ''} |`;
    });
    return `## ${place}\n\n| Properties | Reason |\n| --- | --- |\n${lines.join('\n')}\n`;
  });
  const missing = [...Map.groupBy(operations, ({ reason }) => reason)].map(
    ([reason, grouped]) => `| ${grouped.map(({ operation }) => `\`${operation}\``).join('<br>')} | ${reason ?? ''} |`,
  );
  return `${INTRODUCTION}\n${sections.join('\n')}\n## Operations\n\n| Operations of OpenAI only | Reason |\n| --- | --- |\n${missing.join('\n')}\n`;
}

/** Differences without a reason, and patterns without a difference. */
export function findUnexplained({ differences, operations, unused }: Comparison): string[] {
  return [
    ...differences
      .filter(({ reason }) => reason === null)
      .map(({ place, path, kind }) => `no reason: ${place} ${path} (${kind})`),
    ...operations.filter(({ reason }) => reason === null).map(({ operation }) => `no reason: ${operation}`),
    ...unused.map((pattern) => `no difference: ${pattern}`),
  ];
}

if (import.meta.main) {
  const [path] = process.argv.slice(2);
  if (path === undefined) throw new Error('Usage: node tools/openai/comparison.ts SPEC.yaml.gz');
  writeFileSync(SPECIFICATION, `${JSON.stringify(readSpecification(path), null, 2)}\n`);
  for (const line of findUnexplained(compareWithOpenAi(storedSpecification()))) console.log(line);
}

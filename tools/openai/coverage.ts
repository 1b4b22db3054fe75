/**
 * Coverage of OpenAI's API by our API description, after the idea of OGX's coverage script: the share of the properties
 * of OpenAI's specification, over the operations that both have, that are neither missing nor different. An object that
 * several operations return counts once.
 */
import { compareProperties } from './compare.ts';
import { type Description, type Direction, listOperationTags, listPlaces, ourOperations } from './operations.ts';
import { listProperties, type Properties, type Property } from './properties.ts';

/** Coverage of one group of operations, named by the tag of OpenAI's specification. */
export interface GroupCoverage {
  group: string;
  /** Operations of both descriptions, and operations of OpenAI's. */
  operations: number;
  theirOperations: number;
  /** Properties of OpenAI in the operations that both have. */
  properties: number;
  /** Properties that we lack, such as `POST /v1/files request expires_after`. */
  missing: string[];
  /** Properties whose difference a client of OpenAI can notice. */
  different: string[];
  /**
   * Properties that differ by OGX's rule: another type, a missing value of an enumeration, or null on one side only,
   * even where we accept more than OpenAI or send less.
   */
  differentByOgx: number;
}

/** Percentage of the properties without a problem. */
export function coverageScore(properties: number, problems: number): number {
  return properties === 0 ? 0 : Math.max(0, 100 * (1 - problems / properties));
}

/** Measures the groups. `theirs`: OpenAI's specification, whose paths lack `/v1`. */
export function measureCoverage(theirs: Description, ours: Description, groups: readonly string[]): GroupCoverage[] {
  const implemented = ourOperations(ours);
  const ourPlaces = listPlaces(ours, '');
  const theirPlaces = listPlaces(theirs, '/v1');
  const tags = [...listOperationTags(theirs, '/v1')];
  const seen = new Set<string>();
  return groups.map((group) => {
    const operations = tags.filter(([, tag]) => tag === group).map(([operation]) => operation);
    const shared = operations.filter((operation) => implemented.has(operation));
    const coverage: GroupCoverage = {
      group,
      operations: shared.length,
      theirOperations: operations.length,
      ...{ properties: 0, missing: [], different: [], differentByOgx: 0 },
    };
    for (const place of shared.flatMap((operation) => KINDS.map((kind) => `${operation} ${kind}`))) {
      const [their, our] = [theirPlaces.get(place), ourPlaces.get(place)];
      const key = `${our?.direction} ${our?.schema.$ref ?? place}`;
      if (their === undefined || our === undefined || seen.has(key)) continue;
      seen.add(key);
      const own = listProperties(our.schema, ours.components.schemas);
      // A missing object is one problem, and counts with all of its properties.
      coverage.properties += countProperties(listProperties(their.schema, theirs.components.schemas));
      const compared = listProperties(their.schema, theirs.components.schemas, own);
      addProblems(coverage, { place, direction: our.direction }, compared, own);
    }
    return coverage;
  });
}

const KINDS = ['query', 'request', 'response', 'stream'];

/** Lists and roots are no properties. */
const isProperty = (path: string): boolean => path !== '' && !path.endsWith('[]');

const countProperties = (properties: Properties): number => [...properties.keys()].filter(isProperty).length;

function addProblems(
  coverage: GroupCoverage,
  { place, direction }: { place: string; direction: Direction },
  theirs: Properties,
  ours: Properties,
): void {
  for (const [path, their] of [...theirs].filter(([path]) => isProperty(path))) {
    const our = ours.get(path);
    if (our === undefined) {
      coverage.missing.push(`${place} ${path}`);
      continue;
    }
    const kinds = compareProperties(new Map([[path, their]]), new Map([[path, our]]), direction).map(
      ({ kind }) => kind,
    );
    if (kinds.some((kind) => !UNCOUNTED.includes(kind))) coverage.different.push(`${place} ${path}`);
    if (differsByOgx(their, our)) coverage.differentByOgx += 1;
  }
}

/** OGX counts neither of them. */
const UNCOUNTED = ['required', 'can be absent'];

function differsByOgx(theirs: Property, ours: Property): boolean {
  if (theirs.types.includes('any') || ours.types.includes('any')) return false;
  const differ = theirs.types.join() !== ours.types.join() || theirs.nullable !== ours.nullable;
  return differ || (theirs.values ?? []).some((value) => ours.values !== null && !ours.values.includes(value));
}

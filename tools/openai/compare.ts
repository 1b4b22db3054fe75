import type { Direction } from './operations.ts';
import type { Properties, Property } from './properties.ts';

/** A difference that a client of OpenAI can notice. */
export interface Difference {
  path: string;
  /** Such as `OpenAI only`, or `null is rejected`. */
  kind: string;
}

/** Lists what differs between the properties of two schemas. */
export function compareProperties(theirs: Properties, ours: Properties, direction: Direction): Difference[] {
  const paths = new Set([...theirs.keys(), ...ours.keys()]);
  return [...paths].flatMap((path) => differenceAt(path, direction, theirs, ours).map((kind) => ({ path, kind })));
}

function differenceAt(path: string, direction: Direction, theirs: Properties, ours: Properties): string[] {
  const left = theirs.get(path);
  const right = ours.get(path);
  if (left === undefined) return isInsideDifference(path, theirs) ? [] : ['Quire only'];
  if (right === undefined) return ['OpenAI only'];
  return direction === 'request' ? requestDifferences(left, right) : responseDifferences(left, right);
}

/** Whether a parent of the path is missing as well, or accepts everything. */
function isInsideDifference(path: string, properties: Properties): boolean {
  const parent = path.endsWith('[]') ? path.slice(0, -2) : path.slice(0, Math.max(path.lastIndexOf('.'), 0));
  const found = properties.get(parent);
  return found === undefined || found.types.includes('any');
}

/** What clients of OpenAI send and Quire does not accept. */
function requestDifferences(theirs: Property, ours: Property): string[] {
  return [
    ...(ours.required && !theirs.required ? ['required'] : []),
    ...(theirs.nullable && !ours.nullable && !ours.types.includes('any') ? ['null is rejected'] : []),
    ...surplus('not accepted', theirs, ours),
  ];
}

/** What Quire sends and clients of OpenAI do not expect. */
function responseDifferences(theirs: Property, ours: Property): string[] {
  return [
    ...(theirs.required && !ours.required ? ['can be absent'] : []),
    ...(ours.nullable && !theirs.nullable && !theirs.types.includes('any') ? ['can be null'] : []),
    ...surplus('additional', ours, theirs),
  ];
}

/** Types and texts of one side that the other side lacks. */
function surplus(label: string, from: Property, to: Property): string[] {
  if (to.types.includes('any')) return [];
  const types = from.types.filter((type) => !to.types.includes(type));
  const texts =
    to.values === null || !to.types.includes('string')
      ? []
      : (from.values ?? ['any text']).filter((value) => !to.values?.includes(value));
  const found = from.types.includes('string') ? [...types, ...texts] : types;
  return found.length === 0 ? [] : [`${label}: ${found.join(', ')}`];
}

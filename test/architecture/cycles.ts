import { posix } from 'node:path';
import { listImports } from './imports.ts';
import { isProduct, type Source } from './source.ts';

/** An import cycle between entries of one folder. */
export interface Cycle {
  folder: string;
  /** Names of files and subfolders, sorted. */
  entries: string[];
  /** The imports that form the cycle, as `from -> to`. */
  imports: string[];
}

/** Graph of the entries of one folder. An entry imports another when any file below it does. */
type Graph = Map<string, Map<string, string[]>>;

/**
 * Finds the import cycles in every folder of the service and of the console, tests excluded. Type imports count,
 * because they couple modules as well.
 */
export function findCycles(sources: readonly Source[]): Cycle[] {
  return [...graphsByFolder(sources)].flatMap(([folder, graph]) =>
    stronglyConnected(graph)
      .filter((entries) => entries.length > 1)
      .map((entries) => ({ folder, entries: entries.toSorted(), imports: importsWithin(graph, new Set(entries)) })),
  );
}

function graphsByFolder(sources: readonly Source[]): Map<string, Graph> {
  const graphs = new Map<string, Graph>();
  for (const source of sources) {
    if (!isProduct(source.path)) continue;
    for (const { specifier } of listImports(source)) {
      if (!specifier.startsWith('.')) continue;
      const target = posix.join(posix.dirname(source.path), specifier);
      const from = source.path.split('/');
      const to = target.split('/');
      const depth = from.findIndex((part, at) => part !== to[at]);
      if (depth < 1) continue;
      const graph = ensure(graphs, from.slice(0, depth).join('/'), (): Graph => new Map());
      const targets = ensure(graph, from[depth] ?? '', () => new Map<string, string[]>());
      ensure(targets, to[depth] ?? '', (): string[] => []).push(`${source.path} -> ${target}`);
    }
  }
  return graphs;
}

function ensure<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  const value = map.get(key) ?? make();
  map.set(key, value);
  return value;
}

/** Tarjan's algorithm (1972). */
function stronglyConnected(graph: Graph): string[][] {
  const components: string[][] = [];
  const index = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  const visit = (name: string): void => {
    index.set(name, index.size);
    lowest.set(name, index.size - 1);
    stack.push(name);
    for (const target of graph.get(name)?.keys() ?? []) {
      if (!index.has(target)) visit(target);
      if (stack.includes(target)) lowest.set(name, Math.min(lowest.get(name) ?? 0, lowest.get(target) ?? 0));
    }
    if (lowest.get(name) === index.get(name)) components.push(stack.splice(stack.indexOf(name)));
  };
  for (const name of graph.keys()) if (!index.has(name)) visit(name);
  return components;
}

function importsWithin(graph: Graph, entries: ReadonlySet<string>): string[] {
  return [...entries].flatMap((from) =>
    [...(graph.get(from) ?? [])].flatMap(([to, imports]) => (entries.has(to) ? imports : [])),
  );
}

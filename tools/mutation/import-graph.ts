import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import type { Node } from 'oxc-parser';
import { nodeName, parseSource, walk } from '../../test/architecture/source.ts';

/** Graph of executed files: value imports, and files started as processes or threads. */
export class ImportGraph {
  readonly #root: string;
  readonly #imports = new Map<string, readonly string[]>();

  /** `root` is the folder that paths are relative to. */
  constructor(root: string) {
    this.#root = root;
  }

  /** Returns every file that a file executes, including itself, with its distance. */
  distancesFrom(path: string): Map<string, number> {
    const distances = new Map([[path, 0]]);
    // Iteration over a Map includes entries added meanwhile: this is a breadth-first search.
    for (const [file, distance] of distances) {
      for (const target of this.#listImports(file)) if (!distances.has(target)) distances.set(target, distance + 1);
    }
    return distances;
  }

  /**
   * The same for a test file. Counts the code beside it as a direct import if the test executes it at all, because most
   * route tests import only the harness, which imports everything.
   */
  distancesFromTest(path: string): Map<string, number> {
    const distances = this.distancesFrom(path);
    const beside = [...distances.keys()].filter(
      (each) => dirname(each) === dirname(path) && !each.endsWith('.test.ts'),
    );
    for (const sibling of beside) {
      for (const [target, steps] of this.distancesFrom(sibling)) {
        distances.set(target, Math.min(steps + 1, distances.get(target) ?? Number.POSITIVE_INFINITY));
      }
    }
    return distances;
  }

  #listImports(path: string): readonly string[] {
    const known = this.#imports.get(path);
    if (known !== undefined) return known;
    const specifiers = /\.[jt]s$/.test(path) ? findSpecifiers(path, readFileSync(join(this.#root, path), 'utf8')) : [];
    const targets = specifiers
      .filter((specifier) => /^\.{1,2}\//.test(specifier))
      .map((specifier) => normalize(join(dirname(path), specifier)))
      .filter((target) => /\.(ts|js)$/.test(target) && existsSync(join(this.#root, target)));
    this.#imports.set(path, targets);
    return targets;
  }
}

/** Lists module specifiers of a file, and relative paths passed to `new URL`. */
export function findSpecifiers(path: string, text: string): string[] {
  const found: string[] = [];
  walk(parseSource(path, text), (node) => {
    const specifier = specifierOf(node);
    if (specifier !== null) found.push(specifier);
  });
  return found;
}

function specifierOf(node: Node): string | null {
  switch (node.type) {
    case 'ImportDeclaration':
      return node.importKind === 'type' ? null : node.source.value;
    case 'ExportAllDeclaration':
    case 'ExportNamedDeclaration':
      return node.exportKind === 'type' ? null : (node.source?.value ?? null);
    case 'ImportExpression':
      return literalText(node.source);
    case 'NewExpression':
      return nodeName(node.callee) === 'URL' ? literalText(node.arguments[0]) : null;
    default:
      return null;
  }
}

function literalText(node: Node | undefined): string | null {
  return node?.type === 'Literal' && typeof node.value === 'string' ? node.value : null;
}

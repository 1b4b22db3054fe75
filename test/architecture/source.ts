import { type Comment, type Node, parseSync, visitorKeys } from 'oxc-parser';

/** A parsed file. `path` is relative to the repository root, with `/`. */
export interface Source {
  path: string;
  text: string;
  program: Node;
  comments: readonly Comment[];
}

/** A violated rule and its location. */
export interface Violation {
  path: string;
  /** Line number, from 1. */
  line: number;
  rule: string;
}

/** Checks one file against one rule. */
export type Checker = (source: Source) => Violation[];

/**
 * Parses a TypeScript file, or JavaScript and JSX by the extension of the name. Throws a `SyntaxError` with the
 * parser's message.
 */
export function parseSource(path: string, text: string): Source {
  const parsed = parseSync(path, text, { sourceType: 'module', preserveParens: false });
  const [error] = parsed.errors;
  if (error !== undefined) throw new SyntaxError(`${path}: ${error.message}`);
  return { path, text, program: parsed.program, comments: parsed.comments };
}

/** Calls `visit` with every node and its ancestors, the parent last. */
export function walk(source: Source, visit: (node: Node, around: readonly Node[]) => void): void {
  const around: Node[] = [];
  const step = (node: Node): void => {
    visit(node, around);
    around.push(node);
    for (const key of visitorKeys[node.type] ?? []) {
      const child = (node as unknown as Record<string, Node | (Node | null)[] | null>)[key];
      for (const one of [child].flat()) if (one) step(one);
    }
    around.pop();
  };
  step(source.program);
}

/** Returns the line number of an offset, from 1. */
export function lineAt(source: Source, offset: number): number {
  return source.text.slice(0, offset).split('\n').length;
}

/** Creates a violation at an offset of the file. */
export function violationAt(source: Source, offset: number, rule: string): Violation {
  return { path: source.path, line: lineAt(source, offset), rule };
}

/** Formats a violation as `file:line rule`, which editors and terminals link. */
export function describeViolation({ path, line, rule }: Violation): string {
  return `${path}:${line} ${rule}`;
}

/** Whether the file contains tests, beside the code or under `test/`. */
export function isTest(path: string): boolean {
  return /^(console\/|packages\/[^/]+\/)?test\//.test(path) || path.endsWith('.test.ts');
}

/** Whether the file is code of the service, of the console or of a package, not of their tests. */
export function isProduct(path: string): boolean {
  return /^(console\/|packages\/[^/]+\/)?src\//.test(path) && !isTest(path);
}

/** Returns the name of an identifier or string literal: `env` of `process.env` and of `process['env']`. */
export function nodeName(node: Node | null | undefined): string | null {
  if (node?.type === 'Identifier') return node.name;
  return node?.type === 'Literal' && typeof node.value === 'string' ? node.value : null;
}

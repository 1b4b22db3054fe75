import { type Comment, type Node, parseSync, visitorKeys } from 'oxc-parser';

/** One parsed file of the tree. `path` is relative to the repository's root, with `/`. */
export interface Source {
  path: string;
  text: string;
  program: Node;
  comments: readonly Comment[];
}

/** A rule that a file breaks, and where. */
export interface Violation {
  path: string;
  /** From 1. */
  line: number;
  rule: string;
}

/** Looks at one file for one kind of rule. */
export type Checker = (source: Source) => Violation[];

/** Parses a file. Throws with the parser's sentence when it is not TypeScript (or, named `.js`, JavaScript). */
export function parseSource(path: string, text: string): Source {
  const parsed = parseSync(path, text, { sourceType: 'module', preserveParens: false });
  const [error] = parsed.errors;
  if (error !== undefined) throw new SyntaxError(`${path}: ${error.message}`);
  return { path, text, program: parsed.program, comments: parsed.comments };
}

/** Calls `visit` with every node of the tree and the nodes around it, the nearest last. */
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

/** The line of an offset, from 1. */
export function lineAt(source: Source, offset: number): number {
  return source.text.slice(0, offset).split('\n').length;
}

/** A violation at an offset of the file. */
export function violationAt(source: Source, offset: number, rule: string): Violation {
  return { path: source.path, line: lineAt(source, offset), rule };
}

/** `file:line rule`, as editors and terminals make a link of it. */
export function describeViolation({ path, line, rule }: Violation): string {
  return `${path}:${line} ${rule}`;
}

/** Whether the file holds tests, beside the code or under `test/`. */
export function isTest(path: string): boolean {
  return path.startsWith('test/') || path.endsWith('.test.ts');
}

/** The name that an expression or a key has in the source: `env` of `process.env` and of `process['env']`. */
export function nameOf(node: Node | null | undefined): string | null {
  if (node?.type === 'Identifier') return node.name;
  return node?.type === 'Literal' && typeof node.value === 'string' ? node.value : null;
}

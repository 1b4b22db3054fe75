import type { Node } from 'oxc-parser';
import { type Checker, isTest, lineAt, nodeName, type Source, type Violation, violationAt, walk } from './source.ts';

/** Budgets: a function fits on a screen, a file can be read at once, a call needs no lookup of its parameters. */
const MAX_FUNCTION_LINES = 60;
const MAX_FILE_LINES = 400;
const MAX_TEST_FILE_LINES = 500;
const MAX_PARAMETERS = 4;

/** Callbacks that only group tests; each test inside has its own budget. */
const GROUPS: ReadonlySet<string> = new Set(['describe', 'suite']);

/** Checks the length of files and functions, and the number of parameters. */
export const checkBudgets: Checker = (source) => {
  const found = fileLength(source);
  const groupLines = linesOfGroups(source);
  walk(source, (node, around) => {
    const parameters = listParameters(node);
    if (parameters === null) return;
    const count = parameters.filter((parameter) => nodeName(parameter) !== 'this').length;
    if (count > MAX_PARAMETERS) {
      found.push(violationAt(source, node.start, `${count} parameters, at most ${MAX_PARAMETERS}`));
    }
    const lines = countLines(source, node) - (groupLines.get(node) ?? 0);
    if (lines > MAX_FUNCTION_LINES && !isGroup(node, around.at(-1))) {
      found.push(violationAt(source, node.start, `function of ${lines} lines, at most ${MAX_FUNCTION_LINES}`));
    }
  });
  return found;
};

function countLines(source: Source, node: Node): number {
  return lineAt(source, node.end) - lineAt(source, node.start) + 1;
}

/** Lines of the groups directly inside a function: suites for several implementations are functions around a group. */
function linesOfGroups(source: Source): Map<Node, number> {
  const counts = new Map<Node, number>();
  walk(source, (node, around) => {
    if (!isGroup(node, around.at(-1))) return;
    const outer = around.findLast((each) => listParameters(each) !== null);
    if (outer !== undefined) counts.set(outer, (counts.get(outer) ?? 0) + countLines(source, node));
  });
  return counts;
}

function fileLength(source: Source): Violation[] {
  const lines = source.text.trimEnd().split('\n').length;
  const most = isTest(source.path) ? MAX_TEST_FILE_LINES : MAX_FILE_LINES;
  return lines > most ? [{ path: source.path, line: 1, rule: `file of ${lines} lines, at most ${most}` }] : [];
}

function listParameters(node: Node): readonly Node[] | null {
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'FunctionExpression':
    case 'ArrowFunctionExpression':
    case 'TSDeclareFunction':
    case 'TSMethodSignature':
    case 'TSFunctionType':
      return node.params;
    default:
      return null;
  }
}

function isGroup(node: Node, parent: Node | undefined): boolean {
  if (parent?.type !== 'CallExpression' || listParameters(node) === null) return false;
  const { callee } = parent;
  return GROUPS.has(nodeName(callee.type === 'MemberExpression' ? callee.object : callee) ?? '');
}

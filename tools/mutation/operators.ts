import type { Node } from 'oxc-parser';
import type { Edit } from './mutants.ts';

/** Returns the edits of one kind at a node. `around` are its ancestors, the parent last. */
type FindEdits = (node: Node, around: readonly Node[], text: string) => Edit[];

/** Replacements of binary, logical and assignment operators. */
const SWAPPED: Readonly<Record<string, { operator: string; by: string }>> = {
  '===': { operator: 'equality', by: '!==' },
  '!==': { operator: 'equality', by: '===' },
  '<': { operator: 'boundary', by: '<=' },
  '<=': { operator: 'boundary', by: '<' },
  '>': { operator: 'boundary', by: '>=' },
  '>=': { operator: 'boundary', by: '>' },
  '+': { operator: 'arithmetic', by: '-' },
  '-': { operator: 'arithmetic', by: '+' },
  '*': { operator: 'arithmetic', by: '/' },
  '/': { operator: 'arithmetic', by: '*' },
  '%': { operator: 'arithmetic', by: '*' },
  '&&': { operator: 'logical', by: '||' },
  '||': { operator: 'logical', by: '&&' },
  '+=': { operator: 'arithmetic', by: '-=' },
  '-=': { operator: 'arithmetic', by: '+=' },
  '??=': { operator: 'default-value', by: '=' },
};

/** Methods whose call is removed, which leaves the receiver. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  ...['sort', 'toSorted', 'reverse', 'toReversed', 'filter', 'slice', 'trim', 'toLowerCase', 'normalize'],
]);

/** Methods and functions replaced by their opposite. */
const OPPOSITES: Readonly<Record<string, string>> = {
  some: 'every',
  every: 'some',
  startsWith: 'endsWith',
  endsWith: 'startsWith',
  min: 'max',
  max: 'min',
  floor: 'ceil',
  ceil: 'floor',
};

/** Methods whose first argument is a key. */
const KEYED: ReadonlySet<string> = new Set(['get', 'set', 'has', 'delete', 'header']);

const swapOperator: FindEdits = (node, _around, text) => {
  const isOperation = ['BinaryExpression', 'LogicalExpression', 'AssignmentExpression'].includes(node.type);
  if (!isOperation || !('left' in node && 'operator' in node)) return [];
  const swap = SWAPPED[node.operator];
  if (swap === undefined || (node.operator === '+' && [node.left, node.right].some(isText))) return [];
  const start = node.left.end + text.slice(node.left.end, node.right.start).indexOf(node.operator);
  return [{ operator: swap.operator, start, end: start + node.operator.length, replacement: swap.by }];
};

const isText = (node: Node): boolean =>
  node.type === 'TemplateLiteral' ||
  (node.type === 'Literal' && typeof node.value === 'string') ||
  (node.type === 'BinaryExpression' && node.operator === '+' && [node.left, node.right].some(isText));

const negateCondition: FindEdits = (node, _around, text) => {
  if (node.type === 'WhileStatement') return [replaced('condition', node.test, 'false')];
  if (node.type !== 'IfStatement' && node.type !== 'ConditionalExpression') return [];
  const { test } = node;
  const isSwapped = test.type === 'BinaryExpression' && ['===', '!=='].includes(test.operator);
  if (isSwapped || test.type === 'UnaryExpression') return [];
  return [replaced('condition', test, `!(${textOf(test, text)})`)];
};

const dropUnary: FindEdits = (node, _around, text) =>
  node.type === 'UnaryExpression' && ['!', '-'].includes(node.operator)
    ? [replaced('unary', node, textOf(node.argument, text))]
    : [];

const dropDefault: FindEdits = (node, _around, text) => {
  const isDefault = node.type === 'AssignmentPattern' || (node.type === 'LogicalExpression' && node.operator === '??');
  if (!isDefault) return [];
  const left = textOf(node.left, text);
  return [replaced('default-value', node, node.type === 'AssignmentPattern' ? left : `(${left})`)];
};

const dropAwait: FindEdits = (node) =>
  node.type === 'AwaitExpression'
    ? [{ operator: 'await', start: node.start, end: node.start + 'await '.length, replacement: '' }]
    : [];

const dropStatement: FindEdits = (node, around) => {
  if (node.type === 'ReturnStatement' && node.argument === null) return [replaced('return', node, ';')];
  if (node.type === 'ContinueStatement') return [replaced('statement', node, ';')];
  if (node.type !== 'ExpressionStatement' || around.some(isConstructor)) return [];
  const { expression } = node;
  const effect = expression.type === 'AwaitExpression' ? expression.argument : expression;
  const isEffect = ['CallExpression', 'AssignmentExpression', 'UpdateExpression', 'UnaryExpression'].includes(
    effect.type,
  );
  return isEffect ? [replaced('statement', node, ';')] : [];
};

const isConstructor = (node: Node): boolean => node.type === 'MethodDefinition' && node.kind === 'constructor';

const returnConstant: FindEdits = (node) => {
  if (node.type !== 'ReturnStatement' || node.argument === null) return [];
  const { argument } = node;
  if (argument.type === 'Literal' || (argument.type === 'Identifier' && argument.name === 'undefined')) return [];
  if (argument.type !== 'ArrayExpression') return [replaced('return', argument, 'undefined')];
  return argument.elements.length > 0 ? [replaced('return', argument, '[]')] : [];
};

const flipBoolean: FindEdits = (node) =>
  node.type === 'Literal' && typeof node.value === 'boolean' ? [replaced('boolean', node, String(!node.value))] : [];

const requireChain: FindEdits = (node, _around, text) => {
  if (node.type !== 'MemberExpression' && node.type !== 'CallExpression') return [];
  if (!node.optional) return [];
  const from = node.type === 'MemberExpression' ? node.object.end : node.callee.end;
  const start = from + text.slice(from, node.end).indexOf('?.');
  const isNamed = node.type === 'MemberExpression' && !node.computed;
  return [{ operator: 'optional-chain', start, end: start + 2, replacement: isNamed ? '.' : '' }];
};

const exchangeMethod: FindEdits = (node, _around, text) => {
  if (node.type !== 'CallExpression' || node.callee.type !== 'MemberExpression') return [];
  const { object, property } = node.callee;
  if (property.type !== 'Identifier') return [];
  if (LEFT_OUT.has(property.name)) return [replaced('method', node, textOf(object, text))];
  const opposite = OPPOSITES[property.name];
  return opposite === undefined ? [] : [replaced('method', property, opposite)];
};

const emptyKey: FindEdits = (node, around) => {
  const parent = around.at(-1);
  if (node.type !== 'Literal' || typeof node.value !== 'string' || node.value === '') return [];
  const isKey =
    (parent?.type === 'MemberExpression' && parent.computed && parent.property === node) ||
    (parent?.type === 'SwitchCase' && parent.test === node) ||
    (parent?.type === 'CallExpression' && parent.arguments[0] === node && KEYED.has(methodOf(parent)));
  return isKey ? [replaced('key', node, "''")] : [];
};

const methodOf = ({ callee }: Node & { type: 'CallExpression' }): string =>
  callee.type === 'MemberExpression' && callee.property.type === 'Identifier' ? callee.property.name : '';

/** Removes each value of a composite key in turn. Skips texts of errors. */
const dropFromKey: FindEdits = (node, around) => {
  if (node.type !== 'TemplateLiteral' || node.expressions.length < 2 || around.some(isError)) return [];
  return node.expressions.map((part) => replaced('key', part, "''"));
};

const isError = (node: Node): boolean => node.type === 'ThrowStatement' || node.type === 'NewExpression';

function replaced(operator: string, { start, end }: Node, replacement: string): Edit {
  return { operator, start, end, replacement };
}

const textOf = (node: Node, text: string): string => text.slice(node.start, node.end);

/** All kinds of edits. */
export const EDITS: readonly FindEdits[] = [
  swapOperator,
  negateCondition,
  dropUnary,
  dropDefault,
  dropAwait,
  dropStatement,
  returnConstant,
  flipBoolean,
  requireChain,
  exchangeMethod,
  emptyKey,
  dropFromKey,
];

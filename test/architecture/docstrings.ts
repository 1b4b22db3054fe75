import type { Node } from 'oxc-parser';
import { type Checker, isProduct, nodeName, type Source, violationAt } from './source.ts';

/** Types derived from a schema or table of the same name, which has the docstring. */
const DERIVED = /^Static\s*<|\$infer(Select|Insert)\b/;

/** Requires a docstring on every exported function, class, interface and type of the service and the console. */
export const checkDocstrings: Checker = (source) => {
  if (!isProduct(source.path)) return [];
  const { program } = source;
  const statements = program.type === 'Program' ? program.body : [];
  return statements.flatMap((statement) => {
    const name = exportedName(source, statement);
    if (name === null || hasDocstring(source, statement.start)) return [];
    return [violationAt(source, statement.start, `'${name}' is exported without a docstring`)];
  });
};

/** Returns the name of an export that needs a docstring, otherwise null. */
function exportedName(source: Source, statement: Node): string | null {
  if (statement.type === 'ExportDefaultDeclaration') return 'default';
  if (statement.type !== 'ExportNamedDeclaration') return null;
  const { declaration } = statement;
  switch (declaration?.type) {
    case 'FunctionDeclaration':
    case 'TSDeclareFunction':
    case 'ClassDeclaration':
    case 'TSInterfaceDeclaration':
      return declaration.id?.name ?? null;
    case 'TSTypeAliasDeclaration': {
      const type = declaration.typeAnnotation;
      return DERIVED.test(source.text.slice(type.start, type.end)) ? null : declaration.id.name;
    }
    case 'VariableDeclaration':
      return nodeName(declaration.declarations.find(({ init }) => isFunction(init))?.id);
    default:
      return null;
  }
}

function isFunction(node: Node | null): boolean {
  return node?.type === 'ArrowFunctionExpression' || node?.type === 'FunctionExpression';
}

/** Whether a docstring directly precedes the offset, with only white space and `biome-ignore` comments between. */
function hasDocstring(source: Source, start: number): boolean {
  for (const comment of source.comments.toReversed()) {
    if (comment.end > start) continue;
    const between = source.text.slice(comment.end, start).replaceAll(/\/\/ biome-ignore .*/g, '');
    if (between.trim() !== '') return false;
    if (comment.type === 'Block' && comment.value.startsWith('*')) return true;
    if (!comment.value.trimStart().startsWith('biome-ignore ')) return false;
  }
  return false;
}

import type { Node } from 'oxc-parser';
import { type Checker, isTest, nameOf, type Source, violationAt } from './source.ts';

/** What is exported as one word with the value that it is the type of: its docstring stands there. */
const DERIVED = /^Static\s*<|\$infer(Select|Insert)\b/;

/** Every exported function, class, interface and type of `src` says what it is for. */
export const checkDocstrings: Checker = (source) => {
  if (!source.path.startsWith('src/') || isTest(source.path)) return [];
  const { program } = source;
  const statements = program.type === 'Program' ? program.body : [];
  return statements.flatMap((statement) => {
    const name = exportedName(source, statement);
    if (name === null || hasDocstring(source, statement.start)) return [];
    return [violationAt(source, statement.start, `'${name}' is exported without a docstring`)];
  });
};

/** The name of an export that needs a docstring, otherwise null. */
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
      return nameOf(declaration.declarations.find(({ init }) => isFunction(init))?.id);
    default:
      return null;
  }
}

function isFunction(node: Node | null): boolean {
  return node?.type === 'ArrowFunctionExpression' || node?.type === 'FunctionExpression';
}

/** Directly above: nothing but white space, and biome's exceptions, between the two. */
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

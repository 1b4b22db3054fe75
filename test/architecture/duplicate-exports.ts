import type { Node } from 'oxc-parser';
import { isTest, nodeName, type Source } from './source.ts';

/** A name that several files of `src` and of packages export. */
export interface DuplicateExport {
  name: string;
  /** Paths of the files that declare the name, sorted. */
  paths: string[];
}

/**
 * Finds names declared and exported by more than one file of `src` and of packages, tests excluded. Re-exports do not
 * count.
 */
export function findDuplicateExports(sources: readonly Source[]): DuplicateExport[] {
  const pathsByName = new Map<string, Set<string>>();
  for (const { path, program } of sources) {
    if (!/^(src|packages)\//.test(path) || isTest(path) || program.type !== 'Program') continue;
    for (const name of program.body.flatMap(declaredNames)) {
      pathsByName.set(name, (pathsByName.get(name) ?? new Set()).add(path));
    }
  }
  return [...pathsByName]
    .filter(([, paths]) => paths.size > 1)
    .map(([name, paths]) => ({ name, paths: [...paths].toSorted() }));
}

/** Names that an `export` statement declares. */
function declaredNames(statement: Node): string[] {
  if (statement.type !== 'ExportNamedDeclaration') return [];
  const { declaration } = statement;
  switch (declaration?.type) {
    case 'FunctionDeclaration':
    case 'TSDeclareFunction':
    case 'ClassDeclaration':
    case 'TSInterfaceDeclaration':
    case 'TSTypeAliasDeclaration':
      return declaration.id === null ? [] : [declaration.id.name];
    case 'VariableDeclaration':
      return declaration.declarations.flatMap(({ id }) => nodeName(id) ?? []);
    default:
      return [];
  }
}

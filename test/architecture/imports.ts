import { posix } from 'node:path';
import type { Node } from 'oxc-parser';
import { type Checker, isTest, type Source, type Violation, violationAt, walk } from './source.ts';

/**
 * Folders and root files of `src` in dependency order: each may import from the lines above its own. Only entries of
 * the first and the last line may import each other: the first has no product logic, the last assembles the product.
 */
export const ORDER: readonly (readonly string[])[] = [
  ['lib', 'errors', 'config'],
  ['data-folder', 'db', 'blobs', 'search', 'engines', 'extraction'],
  ['leases', 'chunking'],
  ['queue'],
  ['deps'],
  ['http'],
  ['audit'],
  ['accounts'],
  ['users'],
  ['billing'],
  ['limits', 'models', 'files', 'guardrails', 'prompt-cache', 'health', 'telemetry', 'console', 'requests'],
  ['inference'],
  ['connectors'],
  ['knowledge-bases', 'mcp-servers'],
  ['chat', 'completions', 'embeddings', 'rerank', 'moderations', 'prompts'],
  ['responses', 'batches', 'backup'],
  ['protocols', 'evaluations', 'chat-presets', 'alerts'],
  ['chats'],
  ['retention'],
  ['app', 'worker', 'cli', 'boot', 'main', 'start'],
];

/** Order of subfolders: each may import from those before it. Files of the folder itself have no position. */
export const SUBFOLDER_ORDER: Readonly<Record<string, readonly string[]>> = {
  'src/engines/llama': [
    'gguf',
    'runtime',
    'tokenizer',
    'tool-calls',
    'output',
    'prompt',
    'constraints',
    'calibration',
    'kv-cache',
    'scheduler',
    'encoder',
    'engine',
  ],
  'src/models': ['downloads', 'upstreams', 'bindings', 'administration'],
  'src/users': ['sessions', 'members', 'sign-in'],
  'src/knowledge-bases': [
    'jobs',
    'documents',
    'data-sources',
    'pages',
    'index-integrity',
    'ingestion',
    'archive',
    'table-queries',
    'retrieval',
    'grounding',
  ],
};

/** Folders and root files of `console/src` in the same form. */
export const CONSOLE_ORDER: readonly (readonly string[])[] = [
  ['api'],
  ['ui'],
  ['shell'],
  ['passages', 'evaluations', 'prompts'],
  ['answers'],
  ['chat', 'files', 'guardrails', 'mcp-servers', 'models', 'people', 'playground', 'presets'],
  ['batches', 'instance', 'knowledge-bases', 'usage'],
  ['alerts', 'cache', 'keys', 'requests'],
  ['start'],
  ['router', 'main'],
];

/** A folder whose entries have an order, with the level of each entry. */
interface OrderedTree {
  root: string;
  levels: ReadonlyMap<string, number>;
  /** Levels whose entries may import each other. */
  openLevels: ReadonlySet<number>;
}

const TREES = [orderTree('src/', ORDER), orderTree('console/src/', CONSOLE_ORDER)];

function orderTree(root: string, order: readonly (readonly string[])[]): OrderedTree {
  const levels = new Map(order.flatMap((names, level) => names.map((name) => [name, level] as const)));
  return { root, levels, openLevels: new Set([0, order.length - 1]) };
}

/** Returns the folder directly below the root of the tree, or the name of a file there without its extension. */
function topLevelUnit({ root }: OrderedTree, path: string): string {
  return (path.slice(root.length).split('/')[0] ?? '').replace(/(\.test)?\.[jt]sx?$/, '');
}

/** A module specifier and its offset. */
interface Import {
  specifier: string;
  at: number;
}

/** Lists all imports of a file: static, re-exports, dynamic, and type imports. */
export function listImports(source: Source): Import[] {
  const found: Import[] = [];
  walk(source, (node) => {
    const specifier = parseSpecifier(node);
    if (specifier !== null) found.push({ specifier, at: node.start });
  });
  return found;
}

function parseSpecifier(node: Node): string | null {
  switch (node.type) {
    case 'ImportDeclaration':
    case 'ExportAllDeclaration':
    case 'ExportNamedDeclaration':
      return node.source?.value ?? null;
    case 'ImportExpression':
    case 'TSImportType': {
      const literal = node.source;
      return literal.type === 'Literal' && typeof literal.value === 'string' ? literal.value : null;
    }
    default:
      return null;
  }
}

/** Allows imports of the own folder and of lower ones. Tests may import anything. */
export const checkOrder: Checker = (source) => {
  const tree = TREES.find(({ root }) => source.path.startsWith(root));
  if (tree === undefined || isTest(source.path)) return [];
  const unit = topLevelUnit(tree, source.path);
  if (!tree.levels.has(unit)) return [{ path: source.path, line: 1, rule: `'${unit}' has no place in the order` }];
  return listImports(source)
    .filter(({ specifier }) => specifier.startsWith('.'))
    .flatMap(({ specifier, at }) => {
      const target = posix.join(posix.dirname(source.path), specifier);
      const rule = target.startsWith(tree.root)
        ? orderRule(tree, unit, topLevelUnit(tree, target))
        : `${tree.root} imports ${target}, which is not part of it`;
      return rule === null ? [] : [violationAt(source, at, rule)];
    });
};

function orderRule({ levels, openLevels }: OrderedTree, unit: string, target: string): string | null {
  const level = levels.get(unit) ?? 0;
  const targetLevel = levels.get(target);
  if (targetLevel === undefined) return `imports '${target}', which has no place in the order`;
  if (targetLevel < level || target === unit) return null;
  if (targetLevel > level)
    return `'${unit}' (level ${level}) imports '${target}' (level ${targetLevel}), which is above it`;
  return openLevels.has(level) ? null : `'${unit}' imports '${target}', its sibling on level ${level}`;
}

/** Allows imports of sibling subfolders only in the declared order. */
export const checkSubfolderOrder: Checker = (source) => {
  if (isTest(source.path)) return [];
  return Object.entries(SUBFOLDER_ORDER).flatMap(([folder, order]) => {
    const from = findSubfolder(folder, source.path);
    if (from === null) return [];
    if (!order.includes(from)) return [{ path: source.path, line: 1, rule: `'${from}' has no place in the order` }];
    return listImports(source).flatMap(({ specifier, at }) => {
      const to = specifier.startsWith('.')
        ? findSubfolder(folder, posix.join(posix.dirname(source.path), specifier))
        : null;
      const isUpward = to !== null && order.indexOf(to) > order.indexOf(from);
      return isUpward ? [violationAt(source, at, `'${from}' imports '${to}', which comes after it in ${folder}`)] : [];
    });
  });
};

/** Returns the subfolder of `folder` that contains a path; null for files of the folder itself and for other paths. */
function findSubfolder(folder: string, path: string): string | null {
  if (!path.startsWith(`${folder}/`)) return null;
  const [name = '', ...rest] = path.slice(folder.length + 1).split('/');
  return rest.length > 0 ? name : null;
}

/** Allows files of a package to import only its other files and modules of Node: a package has no dependencies. */
export const checkPackage: Checker = (source) => {
  const root = /^packages\/[^/]+\//.exec(source.path)?.[0];
  if (root === undefined) return [];
  return listImports(source).flatMap(({ specifier, at }) => {
    const isOwn = specifier.startsWith('.') && posix.join(posix.dirname(source.path), specifier).startsWith(root);
    const isAllowed = isOwn || specifier.startsWith('node:') || (isTest(source.path) && !specifier.startsWith('.'));
    return isAllowed ? [] : [violationAt(source, at, `imports '${specifier}' from outside ${root}`)];
  });
};

/** Allows imports of Fastify only in `http/`, `app.ts` and `routes.ts`. */
export const checkFastify: Checker = (source): Violation[] => {
  const { path } = source;
  const knowsFastify = path.startsWith('src/http/') || path === 'src/app.ts' || path.endsWith('/routes.ts');
  if (!path.startsWith('src/') || knowsFastify) return [];
  return listImports(source)
    .filter(({ specifier }) => /^(fastify|@fastify)(\/|$)/.test(specifier))
    .map(({ specifier, at }) => violationAt(source, at, `imports '${specifier}' outside http/, app.ts and routes.ts`));
};

import type { Node } from 'oxc-parser';
import { type Checker, isTest, nodeName, violationAt, walk } from './source.ts';

const READER = 'src/config/config.ts';
/** Reads the few settings of client commands without the modules of `READER`. */
const CLIENT_READER = 'src/config/client-config.ts';
/** Entry points that set variables for Node and libraries before those are loaded. They read no settings. */
const SETTERS: ReadonlySet<string> = new Set(['src/start.js', 'src/boot/quick-imports.js']);
/** Modules that pass their environment to child processes. */
const RUNNERS = ['bench/', 'tools/mutation/'];
const PROCESS_MODULES: ReadonlySet<string> = new Set(['process', 'node:process']);

/**
 * Allows `process.env` only in `src/config/config.ts`, so that every setting is validated, documented and passed on.
 */
export const checkEnvironment: Checker = (source) => {
  const isReader = source.path === READER || source.path === CLIENT_READER;
  const isExempt = isReader || SETTERS.has(source.path) || isTest(source.path);
  if (isExempt || RUNNERS.some((folder) => source.path.startsWith(folder))) return [];
  const found: ReturnType<Checker> = [];
  walk(source, (node) => {
    if (readsEnvironment(node)) found.push(violationAt(source, node.start, `process.env outside ${READER}`));
  });
  return found;
};

function readsEnvironment(node: Node): boolean {
  switch (node.type) {
    case 'MemberExpression':
      return nodeName(node.property) === 'env' && isProcess(node.object);
    case 'VariableDeclarator':
      return node.id.type === 'ObjectPattern' && isProcess(node.init) && node.id.properties.some(isEnvProperty);
    case 'ImportDeclaration':
      return PROCESS_MODULES.has(node.source.value) && node.specifiers.some(isEnvSpecifier);
    default:
      return false;
  }
}

/** Whether the node is `process` or `globalThis.process`. */
function isProcess(node: Node | null): boolean {
  return nodeName(node?.type === 'MemberExpression' ? node.property : node) === 'process';
}

function isEnvProperty(node: Node): boolean {
  return node.type === 'Property' && nodeName(node.key) === 'env';
}

function isEnvSpecifier(node: Node): boolean {
  return node.type === 'ImportSpecifier' && nodeName(node.imported) === 'env';
}

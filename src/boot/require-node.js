/** Minimum Node version with type stripping and the APIs that Quire uses. */
const MINIMUM_MAJOR = 24;

/** Whether Node is too old. Plain JavaScript, because such a Node cannot load TypeScript. */
export function isNodeTooOld() {
  return Number(process.versions.node.split('.')[0]) < MINIMUM_MAJOR;
}

/** Exits with a message when Node is too old. npm scripts always pass: they run on the Node that `npm ci` installed. */
export function requireNode24() {
  if (!isNodeTooOld()) return;
  console.error(
    `Quire needs Node ${MINIMUM_MAJOR} or later, and this is Node ${process.versions.node}.\n` +
      'Run it through npm, which uses the Node installed with it: npm ci && npm start',
  );
  process.exit(1);
}

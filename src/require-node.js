/** The oldest Node that strips types and has the APIs that Quire uses. */
const OLDEST_MAJOR = 24;

/**
 * Ends the process with a sentence when Node is too old to run TypeScript as it is. Plain JavaScript, because on such
 * a Node nothing else would load. npm scripts never meet it: they run on the Node that `npm ci` installed.
 */
export function requireNode24() {
  const major = Number(process.versions.node.split('.')[0]);
  if (major >= OLDEST_MAJOR) return;
  console.error(
    `Quire needs Node ${OLDEST_MAJOR} or later, and this is Node ${process.versions.node}.\n` +
      'Run it through npm, which uses the Node installed with it: npm ci && npm start',
  );
  process.exit(1);
}

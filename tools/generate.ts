/**
 * `npm run generate` writes generated files: the pages of GENERATED, the types of the API for the console, and
 * migrations by drizzle-kit (`-- --name add-files` names a new one).
 * `--check` writes nothing, names stale files and exits with code 1.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MIGRATIONS_FOLDER } from '../src/db/db.ts';
import { classifyStatements } from '../src/db/migration-phase.ts';
import { GENERATED, missingStatements, ROOT } from './generated.ts';

const isCheck = process.argv.includes('--check');
const stale: string[] = [];

for (const [path, make] of Object.entries(GENERATED)) {
  const file = join(ROOT, path);
  const text = await make();
  if (existsSync(file) && readFileSync(file, 'utf8') === text) continue;
  stale.push(path);
  if (isCheck) continue;
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
if (!isCheck) runScript('console/build.js', '--types');
// Checked first: drizzle-kit takes seconds to report no changes.
if ((await missingStatements()).length > 0) {
  stale.push('src/db/migrations');
  if (!isCheck) addMigration();
}

for (const path of stale) console.log(`${path} ${isCheck ? 'is stale' : 'written'}`);
if (stale.length === 0) console.log('Everything generated is up to date.');
else if (isCheck) {
  console.log('npm run generate writes what is stale.');
  process.exitCode = 1;
}

/** drizzle-kit may ask which of two names is a rename, which needs a terminal. */
function addMigration(): void {
  runScript('node_modules/drizzle-kit/bin.cjs', 'generate', ...process.argv.slice(2));
  const file = globSync(join(MIGRATIONS_FOLDER, '*.sql')).sort().at(-1) ?? '';
  for (const { statement, contractReason } of classifyStatements(readFileSync(file, 'utf8'))) {
    if (contractReason !== null) console.log(`Contract step: ${statement}: ${contractReason}`);
  }
}

function runScript(...call: string[]): void {
  const { status } = spawnSync(process.execPath, call, { cwd: ROOT, stdio: 'inherit' });
  if (status !== 0) throw new Error(`${call.join(' ')} ended with ${status}`);
}

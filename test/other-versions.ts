/** Versions of the repository before and after this one. */
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

const git = (...args: string[]): string | null => {
  const { status, stdout } = spawnSync('git', args, { cwd: ROOT, encoding: 'utf8' });
  return status === 0 && stdout.trim() !== '' ? stdout.trim() : null;
};
const lastMigration = git('log', '-1', '--format=%H', '--', 'src/db/migrations/meta/_journal.json');
/** The last release; without tags, the code before the last migration. Null without history. */
export const PREVIOUS_REVISION =
  git('describe', '--tags', '--abbrev=0', 'HEAD^') ?? git('rev-parse', '-q', '--verify', `${lastMigration}^`);

/** Writes the files of the previous revision to a folder, which is created. */
export function extractPrevious(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const archive = execFileSync('git', ['archive', String(PREVIOUS_REVISION)], { cwd: ROOT, maxBuffer: 2 ** 30 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
}

/** Gives a copy of a version its packages: those of this clone if both have the same lockfile, else installed ones. */
export function installPackages(folder: string): void {
  const readLock = (root: string) => readFileSync(join(root, 'package-lock.json'), 'utf8');
  const packages = join(folder, 'node_modules');
  rmSync(packages, { recursive: true, force: true });
  if (readLock(folder) === readLock(ROOT)) symlinkSync(join(ROOT, 'node_modules'), packages);
  else execFileSync('npm', ['ci', '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder });
}

/** Adds migrations to a copy of this version: SQL by name. */
export function addMigrations(folder: string, migrations: Record<string, string>): void {
  const path = join(folder, 'src/db/migrations/meta/_journal.json');
  const journal = JSON.parse(readFileSync(path, 'utf8'));
  for (const [tag, sql] of Object.entries(migrations)) {
    const { idx, when } = journal.entries.at(-1);
    journal.entries.push({ idx: idx + 1, when: when + 1, tag, breakpoints: true });
    writeFileSync(join(folder, `src/db/migrations/${tag}.sql`), sql);
  }
  writeFileSync(path, JSON.stringify(journal));
}

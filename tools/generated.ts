import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { generateDrizzleJson, generateMigration } from 'drizzle-kit/api';
import { MIGRATIONS_FOLDER } from '../src/db/db.ts';
import { apiDescription } from './api-description.ts';
import { configurationPage } from './configuration-page.ts';
import { compatibilityPage } from './openai/comparison.ts';

/** Root of the repository. */
export const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** Generated files except the migrations, by path, with the functions that create their text. */
export const GENERATED: Readonly<Record<string, () => string | Promise<string>>> = {
  'docs/use/configuration.md': configurationPage,
  'docs/openapi.json': apiDescription,
  // Reads docs/openapi.json, so it comes after it.
  'docs/use/openai-compatibility.md': compatibilityPage,
};

type Snapshot = ReturnType<typeof generateDrizzleJson>;

/** Returns the SQL that `drizzle-kit generate` would add to the migrations. */
export async function missingStatements(): Promise<string[]> {
  const tables: Record<string, unknown> = {};
  for (const path of globSync('src/**/tables.ts', { cwd: ROOT })) {
    Object.assign(tables, await import(new URL(`../${path}`, import.meta.url).href));
  }
  const journal = readJson('meta/_journal.json') as { entries: { tag: string; idx: number }[] };
  const last = journal.entries.at(-1);
  const number = String(last?.idx ?? 0).padStart(4, '0');
  const migrated =
    last === undefined ? generateDrizzleJson({}) : (readJson(`meta/${number}_snapshot.json`) as Snapshot);
  return generateMigration(migrated, generateDrizzleJson(tables, migrated.id));
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(`${MIGRATIONS_FOLDER}/${path}`, 'utf8'));
}

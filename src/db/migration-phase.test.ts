import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { MIGRATIONS_FOLDER } from './db.ts';
import { classifyStatements, concurrentIndexes, migrationPhase } from './migration-phase.ts';

const EXPAND = [
  'CREATE TABLE "a" ("id" text PRIMARY KEY NOT NULL, "b" text UNIQUE, CHECK ("b" <> \'drop table a;\'));',
  'CREATE TABLE "a" ("id" text); CREATE UNIQUE INDEX "a_by_id" ON "a" USING btree ("id");',
  'CREATE TABLE "a" ("id" text); ALTER TABLE "a" ADD CONSTRAINT "f" FOREIGN KEY ("id") REFERENCES "public"."b"("id");',
  'create unlogged table a (id text); alter table public.a drop column id; insert into a values (1)',
  'CREATE INDEX CONCURRENTLY IF NOT EXISTS "keys_by_use" ON "keys" ("used_at")',
  'ALTER TABLE "keys" ADD COLUMN "note" text',
  'ALTER TABLE "keys" ADD COLUMN "n" integer DEFAULT 0 NOT NULL, ADD COLUMN "m" numeric(10,2)',
  `ALTER TABLE "keys" ADD COLUMN "reading" jsonb DEFAULT '[]'::jsonb NOT NULL`,
  'ALTER TABLE "keys" ADD COLUMN "at" timestamp with time zone DEFAULT now() NOT NULL',
  `ALTER TABLE "keys" ADD COLUMN "tags" text[] DEFAULT '{}'::text[] NOT NULL`,
  'ALTER TABLE "keys" ADD COLUMN "is_unique" boolean DEFAULT false NOT NULL;',
  'ALTER TABLE "keys" ALTER COLUMN "name" DROP NOT NULL',
  `ALTER TABLE "keys" ALTER COLUMN "name" SET DEFAULT 'a; drop table b'`,
  'create function f() returns trigger language plpgsql as $$ begin drop table x; end $$;',
  '-- drop table a;\n/* alter table a\n drop column b; */',
];
const CONTRACT = [
  'DROP TABLE "keys"',
  'DROP INDEX "keys_by_use"',
  'ALTER TABLE "keys" RENAME TO "api_keys"',
  'ALTER TABLE "keys" RENAME COLUMN "a" TO "b"',
  'ALTER TABLE "keys" DROP COLUMN "a"',
  'ALTER TABLE "keys" ADD COLUMN "a" text, DROP COLUMN "b"',
  'ALTER TABLE "keys" ADD COLUMN "a" text NOT NULL',
  'ALTER TABLE "keys" ADD COLUMN "a" text DEFAULT gen_random_uuid() NOT NULL',
  `ALTER TABLE "keys" ADD COLUMN "a" text DEFAULT 'a' || random() NOT NULL`,
  'ALTER TABLE "keys" ADD COLUMN "a" text REFERENCES "b"("id")',
  'ALTER TABLE "keys" ADD COLUMN "a" integer GENERATED ALWAYS AS ("b" + 1) STORED',
  'ALTER TABLE "keys" ADD COLUMN "a" bigserial',
  'ALTER TABLE "keys" ALTER COLUMN "a" SET NOT NULL',
  'ALTER TABLE "keys" ALTER COLUMN "a" SET DATA TYPE bigint',
  'ALTER TABLE "keys" ALTER COLUMN "a" DROP DEFAULT',
  'ALTER TABLE "keys" ADD CONSTRAINT "c" CHECK ("a" > 0) NOT VALID',
  'ALTER TABLE "keys" ADD CONSTRAINT "c" UNIQUE("a")',
  'CREATE INDEX "keys_by_use" ON "keys" ("used_at")',
  'CREATE UNIQUE INDEX CONCURRENTLY "keys_by_use" ON "keys" ("used_at")',
  'CREATE OR REPLACE FUNCTION f() RETURNS int LANGUAGE sql AS $$ select 1 $$',
  'CREATE TRIGGER t AFTER INSERT ON "keys" FOR EACH ROW EXECUTE FUNCTION f()',
  'UPDATE "keys" SET "a" = 1',
  'DELETE FROM "keys"',
  'INSERT INTO "keys" VALUES (1)',
  'TRUNCATE "keys"',
  'LOCK TABLE "keys"',
  'DO $$ begin drop table keys; end $$',
  'CREATE TABLE "a" ("id" text); DROP TABLE "keys"',
  'CREATE TABLE "a; b" ("id" text); DROP TABLE "keys"',
  "COMMENT ON TABLE a IS 'it''s; --'; DROP TABLE b",
];
/** Migrations until this one ran while no process served. */
const LAST_OFFLINE = 53;

describe('phases of migrations', () => {
  for (const sql of EXPAND) {
    it(`expand: ${sql}`, () => assert.equal(migrationPhase(sql), 'expand', JSON.stringify(classifyStatements(sql))));
  }
  for (const sql of CONTRACT) {
    it(`contract: ${sql}`, () => assert.equal(migrationPhase(sql), 'contract'));
  }

  it('finds the indexes of a migration that no transaction may contain', () => {
    const index = (name: string) => `\nCREATE INDEX CONCURRENTLY "${name}" ON "a" ("b") WHERE "c" = ';';`;
    assert.deepEqual(concurrentIndexes([index('one'), index('two')]), ['one', 'two']);
    assert.deepEqual(concurrentIndexes(['create table a (id text)']), []);
    for (const mixed of [[index('one'), 'create table a (id text)'], [index('one') + index('two')]]) {
      assert.throws(() => concurrentIndexes(mixed), /must have no other statements/);
    }
  });

  it('every migration is either an expand or a contract migration', () => {
    const read = (path: string) => readFileSync(join(MIGRATIONS_FOLDER, path), 'utf8');
    const { entries } = JSON.parse(read('meta/_journal.json')) as { entries: { idx: number; tag: string }[] };
    for (const { tag } of entries.filter(({ idx }) => idx > LAST_OFFLINE)) {
      const parts = read(`${tag}.sql`).split('--> statement-breakpoint');
      concurrentIndexes(parts);
      const statements = classifyStatements(parts.join('\n'));
      const contract = statements.filter(({ contractReason }) => contractReason !== null);
      const advice = `${tag}: move these statements to a migration of their own: ${JSON.stringify(contract)}`;
      assert.ok(contract.length === 0 || contract.length === statements.length, advice);
    }
  });
});

import type { Database } from './db.ts';

/** A statement of every request with one text parameter, prepared once per database. `name` is unique. */
export function prepared(name: string, statement: string): (db: Database, parameter: string) => Promise<unknown[]> {
  const runOn = new WeakMap<Database, ReturnType<Database['prepare']>>();
  return (db, parameter) => {
    const run = runOn.get(db) ?? db.prepare(name, statement);
    runOn.set(db, run);
    return run(parameter);
  };
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createDatabase } from '../../test/database.ts';
import { until } from '../../test/deadline.ts';
import { startStartingPostgres } from '../../test/fixtures/starting-postgres.ts';
import { createLogger } from '../lib/logger.ts';
import { openPostgres } from './postgres.ts';

describe('a database that recovers from a crash', () => {
  it('is waited for with a line in the log; its later failures are reported', async (t) => {
    const database = await createDatabase();
    const server = await startStartingPostgres(database.url, true);
    t.after(async () => {
      await server.close();
      await database.drop();
    });
    const lines: string[] = [];
    const opening = openPostgres(server.url, createLogger('warn', { write: (line) => void lines.push(line) }));
    await until(() => server.rejected() > 1);
    server.setRecovering(false);
    const db = await opening;
    await db.check();
    assert.equal(lines.length, 1);
    assert.match(lines[0] ?? '', /waiting for the database: The database at .* does not accept connections yet/);
    server.setRecovering(true);
    // The check repeats its last result for a second.
    const failure = () => db.check().then(() => '', String);
    await until(async () => /does not answer/.test(await failure()));
    await db.close();
  });
});

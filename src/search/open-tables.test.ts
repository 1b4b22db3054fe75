import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Table } from '@lancedb/lancedb';
import { ChunkIndex } from './chunk-index.ts';
import type { IndexedChunk } from './chunk-rows.ts';
import { IndexConnection } from './index-connection.ts';
import { OpenTables } from './open-tables.ts';

describe('OpenTables', () => {
  const forgets: [name: string, forget: (tables: OpenTables) => void][] = [
    ['forgotten', (tables) => tables.forget('kb_1')],
    ['to be opened again', (tables) => tables.reopen()],
  ];
  for (const [name, forget] of forgets) {
    it(`does not cache a table that is ${name} while it is opened`, async () => {
      const opened: PromiseWithResolvers<Table | null>[] = [];
      const connection = {
        openTable: () => {
          const opening = Promise.withResolvers<Table | null>();
          opened.push(opening);
          return opening.promise;
        },
      } as unknown as IndexConnection;
      const tables = new OpenTables(new Map(), { isShared: false });
      const [before, after] = [{}, {}] as [Table, Table];
      const early = tables.find(connection, 'kb_1');
      forget(tables);
      opened[0]?.resolve(before);
      assert.equal(await early, before);
      const late = tables.find(connection, 'kb_1');
      opened[1]?.resolve(after);
      assert.equal(await late, after);
      assert.equal(await tables.find(connection, 'kb_1'), after, 'cached');
      assert.equal(opened.length, 2);
    });
  }
});

describe('ChunkIndex', () => {
  it('opens a new table after a drop, also one that a search opened during the drop', async (context) => {
    const folder = await mkdtemp(join(tmpdir(), 'quire-index-'));
    const index = await ChunkIndex.open(folder);
    context.after(async () => {
      await index.close();
      await rm(folder, { recursive: true });
    });
    const put = (id: string, count: number) => {
      const names = { documentId: id, documentName: `${id}.txt`, sourceType: 'file_upload', language: 'en' } as const;
      const vector = new Float32Array(1024).with(0, 1);
      const chunks = Array.from(
        { length: count },
        (_, at): IndexedChunk => ({ ...names, id: `${id} ${at}`, text: 'Nine.', vector, fields: {} }),
      );
      return index.replace('kb_1', [id], { chunks, isNew: false });
    };
    await put('old', 1);
    const { dropTable } = IndexConnection.prototype;
    const drop = context.mock.method(IndexConnection.prototype, 'dropTable', async function (this: IndexConnection) {
      assert.equal(await index.count('kb_1'), 1);
      await dropTable.call(this, 'kb_1');
    });
    await index.drop('kb_1');
    assert.equal(drop.mock.callCount(), 1);
    assert.equal(await index.count('kb_1'), 0);
    await put('new', 2);
    assert.equal(await index.count('kb_1'), 2);
  });
});

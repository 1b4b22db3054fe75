import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { eq } from 'drizzle-orm';
import { openTestDatabase } from '../../test/database.ts';
import { BlobNotFoundError, type BlobStore } from '../blobs/blob-store.ts';
import type { Database } from '../db/db.ts';
import { files } from '../files/tables.ts';
import { newId } from '../lib/ids.ts';
import { archiveAllBlobs } from './archive-blobs.ts';
import { openFolderTarget } from './folder-target.ts';
import { BackupRepository } from './repository.ts';

const never = new AbortController().signal;

describe('the archive of uploaded files', () => {
  const folder = mkdtempSync(join(tmpdir(), 'quire-blobs-'));
  let db: Database;
  before(async () => {
    db = await openTestDatabase();
  });
  after(async () => {
    await db.close();
    rmSync(folder, { recursive: true });
  });

  it('has the content of two files, one of which is deleted before it is read', async () => {
    const row = (name: string, text: string) => ({
      id: newId('file'),
      organizationId: newId('organization'),
      filename: `${name}.txt`,
      purpose: 'knowledge-base' as const,
      bytes: text.length,
      sha256: createHash('sha256').update(text).digest('hex'),
      blobKey: name,
      status: 'processed' as const,
      createdAt: new Date(),
    });
    const [shared, single] = [row('a', 'shared').sha256, row('c', 'single').sha256];
    await db.sql.insert(files).values([row('a', 'shared'), row('b', 'shared'), row('c', 'single')]);
    const deleted: string[] = [];
    const blobs = {
      // The first file of each content is deleted when its turn comes.
      read: async (key: string) => {
        const [{ sha256 = '' } = {}] = await db.sql.select().from(files).where(eq(files.blobKey, key));
        if (deleted.includes(sha256)) return Readable.from([Buffer.from('shared')]);
        deleted.push(sha256);
        await db.sql.delete(files).where(eq(files.blobKey, key));
        throw new BlobNotFoundError(key);
      },
    } as unknown as BlobStore;
    const repository = await BackupRepository.open(openFolderTarget(folder), null, never);
    await repository.claim('1', never);
    const contents = await Array.fromAsync(archiveAllBlobs({ db, blobs }, repository, never));
    assert.deepEqual(
      contents.map(({ sha256 }) => sha256),
      [shared],
    );
    assert.deepEqual(deleted.toSorted(), [shared, single].toSorted());
  });
});

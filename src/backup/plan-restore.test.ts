import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BackupManifest } from './manifest.ts';
import { type BackupInventory, hasGapBehind, planRestore, usableBackups } from './plan-restore.ts';
import { type ArchivedWal, parseWalObjectName, segmentNumber, segmentOfLsn, walObjectName } from './wal-names.ts';

const MINUTE = 60_000;
const T0 = Date.UTC(2026, 10, 24, 10);

const segmentName = (timeline: number, number: number) =>
  [timeline, Math.floor(number / 256), number % 256]
    .map((part) => part.toString(16).toUpperCase().padStart(8, '0'))
    .join('');

/** A segment that was complete `minute` minutes after T0. */
const segment = (timeline: number, number: number, minute: number): ArchivedWal => {
  const parsed = parseWalObjectName(walObjectName(segmentName(timeline, number), T0 + minute * MINUTE));
  assert.ok(parsed !== null);
  return parsed;
};

const backup = (id: string, timeline: number, [first, last]: [number, number], minute: number): BackupManifest => ({
  format: 1,
  id,
  version: '1',
  startedAt: T0 + minute * MINUTE - 1000,
  consistentAt: T0 + minute * MINUTE,
  timeline,
  firstSegment: segmentName(timeline, first),
  lastSegment: segmentName(timeline, last),
  folders: [],
  packs: [],
  blobs: { count: 0, bytes: 0 },
  hasSecretsKey: true,
});

const sorted = (wal: ArchivedWal[]) => wal.toSorted((a, b) => (a.name < b.name ? -1 : 1));
/** Two backups; segments 254 to 259 cross a log id, one a minute. */
const inventory: BackupInventory = {
  backups: [backup('a', 1, [254, 254], 0), backup('b', 1, [257, 257], 3)],
  wal: sorted([254, 255, 256, 257, 258, 259].map((number) => segment(1, number, number - 253))),
  history: null,
};
const at = (minute: number) => ({ id: null, atMs: T0 + minute * MINUTE });
const failure = (from: BackupInventory, request: Parameters<typeof planRestore>[1]) => {
  try {
    planRestore(from, request);
  } catch (error) {
    return String(error);
  }
  return assert.fail('no error');
};

describe('the plan of a restore', () => {
  it('begins with the newest backup before the time, and ends with the archive without a time', () => {
    assert.equal(planRestore(inventory, at(0)).backup.id, 'a');
    assert.equal(planRestore(inventory, { id: null, atMs: T0 + 3 * MINUTE - 1 }).backup.id, 'a');
    assert.equal(planRestore(inventory, at(3)).backup.id, 'b');
    const { backup: chosen, untilMs, wal } = planRestore(inventory, { id: null, atMs: null });
    assert.deepEqual([chosen.id, untilMs], ['b', T0 + 6 * MINUTE]);
    assert.deepEqual(
      wal.map(({ file }) => segmentNumber(file)),
      [257, 258, 259],
    );
    assert.equal(planRestore(inventory, { id: 'a', atMs: null }).untilMs, T0 + 6 * MINUTE);
  });

  it('rejects times outside of the archive, and names its bounds', () => {
    assert.match(failure(inventory, { id: null, atMs: T0 - 1 }), /the first backup is of 2026-11-24T10:00:00\.000Z/);
    assert.match(failure(inventory, { id: 'b', atMs: T0 }), /the backup b is of 2026-11-24T10:03:00\.000Z/);
    assert.match(failure(inventory, { id: null, atMs: T0 + 6 * MINUTE + 1 }), /ends at 2026-11-24T10:06:00\.000Z/);
    assert.match(failure(inventory, { id: 'c', atMs: null }), /There is no backup 'c' .*a, b/);
    assert.match(failure({ ...inventory, backups: [] }, at(1)), /no complete backup/);
  });

  it('ends at a gap in the WAL', () => {
    const gap = { ...inventory, wal: inventory.wal.filter(({ file }) => segmentNumber(file) !== 256) };
    assert.equal(planRestore(gap, { id: 'a', atMs: null }).untilMs, T0 + 2 * MINUTE);
    assert.match(
      failure(gap, { id: null, atMs: T0 + 2.5 * MINUTE }),
      /10:02:30\.000Z cannot be restored: WAL is missing between 2026-11-24T10:02:00\.000Z and the backup of 2026-11-24T10:03:00\.000Z\. Choose/,
    );
    assert.match(failure(gap, { id: 'a', atMs: T0 + 2.5 * MINUTE }), /the archived WAL ends at 2026-11-24T10:02:00/);
    assert.match(failure(gap, { id: 'b', atMs: T0 + 7 * MINUTE }), /the archived WAL ends at 2026-11-24T10:06:00/);
    assert.equal(planRestore(gap, { id: null, atMs: T0 + 2 * MINUTE }).backup.id, 'a');
    assert.equal(planRestore(gap, at(4)).backup.id, 'b');
    const torn = { ...inventory, wal: inventory.wal.slice(0, 3) };
    assert.match(failure(torn, { id: 'b', atMs: null }), /its WAL is not complete/);
  });

  it('knows a gap behind a backup, which only another backup ends', () => {
    const without = (...numbers: number[]) => ({
      ...inventory,
      wal: inventory.wal.filter(({ file }) => !numbers.includes(segmentNumber(file))),
    });
    const [a, b] = inventory.backups;
    assert.ok(a !== undefined && b !== undefined);
    const hasGap = (missing: number[]) => [a, b].map((each) => hasGapBehind(without(...missing), each));
    assert.deepEqual(hasGap([]), [false, false]);
    assert.deepEqual(hasGap([256]), [true, false]);
    assert.deepEqual(hasGap([258]), [true, true]);
    // Nothing is behind the missing segments yet.
    assert.deepEqual(hasGap([258, 259]), [false, false]);
    assert.deepEqual(hasGap([257]), [true, true]);
    assert.equal(hasGapBehind({ ...inventory, wal: [] }, a), false);
  });

  it('takes no abandoned segment for a missing one of the newest timeline', () => {
    const history = parseWalObjectName(walObjectName('00000002.history', T0));
    const [a] = inventory.backups;
    assert.ok(history !== null && a !== undefined);
    // Timeline 2 lacks segment 257, which timeline 1 has from before the restore.
    const restored: BackupInventory = {
      backups: [a],
      wal: sorted([...inventory.wal, history, segment(2, 256, 10), segment(2, 258, 21)]),
      history: '1\t1/00A00000\tbefore 2026-11-24 10:02:30\n',
    };
    assert.equal(planRestore(restored, { id: null, atMs: null }).untilMs, T0 + 10 * MINUTE);
    assert.equal(hasGapBehind(restored, a), true);
    // Before the restored database has archived WAL, the archive ends with the segment that timeline 1 was left in.
    const abandoned = { ...restored, wal: sorted([...inventory.wal, history]) };
    const { untilMs, wal } = planRestore(abandoned, { id: null, atMs: null });
    assert.equal(untilMs, T0 + 3 * MINUTE);
    assert.deepEqual(
      wal.map(({ file }) => file),
      ['00000002.history', ...[254, 255, 256].map((number) => segmentName(1, number))],
    );
  });

  it('follows the newest timeline, and leaves out what a restore abandoned', () => {
    // Restored to minute 4: timeline 2 left timeline 1 in segment 257, whose backup `b` and later WAL are abandoned.
    const history = parseWalObjectName(walObjectName('00000002.history', T0));
    assert.ok(history !== null);
    const restored: BackupInventory = {
      backups: [...inventory.backups, backup('c', 2, [258, 258], 20)],
      wal: sorted([...inventory.wal, history, segment(2, 256, 10), segment(2, 257, 19), segment(2, 258, 21)]),
      history: '1\t1/00A00000\tbefore 2026-11-24 10:02:30\n',
    };
    assert.equal(segmentOfLsn('1/00A00000'), 256);
    assert.deepEqual(
      usableBackups(restored).map(({ id }) => id),
      ['a', 'c'],
    );
    // Of two backups of the abandoned timeline, one ended in the segment in which it was left.
    const [first] = restored.backups;
    assert.ok(first !== undefined);
    const early = [first, backup('in', 1, [256, 256], 2), backup('behind', 1, [256, 257], 2.5)];
    assert.deepEqual(
      usableBackups({ ...restored, backups: early }).map(({ id }) => id),
      ['a', 'in'],
    );
    const plan = planRestore(restored, { id: null, atMs: T0 + 19 * MINUTE });
    assert.deepEqual([plan.backup.id, plan.untilMs], ['a', T0 + 21 * MINUTE]);
    assert.equal(planRestore(restored, { id: null, atMs: null }).backup.id, 'c');
    assert.equal(plan.wal[0]?.file, '00000002.history');
    // The WAL of the abandoned timeline is longer, also behind a gap of its own.
    const longer = { ...restored, wal: sorted([...restored.wal, segment(1, 262, 9)]) };
    const usable = usableBackups(longer);
    assert.deepEqual(
      usable.map((each) => hasGapBehind(longer, each)),
      [false, false],
    );
  });
});

describe('names of archived WAL', () => {
  it('are parsed back, and nothing else is', () => {
    const name = walObjectName('0000000100000000000000A1', 1_795_533_956_055.7);
    assert.deepEqual(parseWalObjectName(name), {
      name,
      file: '0000000100000000000000A1',
      completeMs: 1_795_533_956_055,
    });
    for (const other of [
      'wal/x',
      'wal/0000000100000000000000A1',
      'base/1',
      'wal/0000000100000000000000a1-1795533956055',
    ]) {
      assert.equal(parseWalObjectName(other), null, other);
    }
    assert.equal(segmentNumber('000000020000000100000001'), 257);
    assert.equal(segmentOfLsn('1/01000028'), 257);
  });
});

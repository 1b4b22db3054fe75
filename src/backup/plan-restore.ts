import { OperatorError } from '../lib/operator-error.ts';
import type { BackupManifest } from './manifest.ts';
import { type ArchivedWal, isSegment, segmentNumber, segmentOfLsn, walTimeline } from './wal-names.ts';

/** What a target holds. */
export interface BackupInventory {
  /** Oldest first. */
  backups: readonly BackupManifest[];
  wal: readonly ArchivedWal[];
  /** Content of the history file of the newest timeline; null when no restored database has archived WAL. */
  history: string | null;
}

/** Which state is restored. */
export interface RestoreRequest {
  /** Base backup to begin with; null: the newest suitable one. */
  id: string | null;
  /** Unix milliseconds; null: the end of the archived WAL. */
  atMs: number | null;
}

/** How a state is restored. */
export interface RestorePlan {
  backup: BackupManifest;
  /** The WAL from the base backup up to the first gap, with all histories of timelines. */
  wal: readonly ArchivedWal[];
  /** Latest time that can be restored with this base backup, Unix milliseconds. */
  untilMs: number;
}

/** A timeline that the newest one descends from, and the segment in which it was left. */
interface Ancestor {
  timeline: number;
  leftAt: number;
}

/** Chooses the base backup and the WAL of a restore. Throws an `OperatorError` that names the times possible. */
export function planRestore(inventory: BackupInventory, { id, atMs }: RestoreRequest): RestorePlan {
  const usable = usableBackups(inventory);
  const [oldest] = usable;
  if (oldest === undefined) throw new OperatorError('The backup target holds no complete backup.');
  const candidates = id === null ? usable : usable.filter((backup) => backup.id === id);
  if (candidates.length === 0) {
    throw new OperatorError(
      `There is no backup '${id}' to restore. There are: ${usable.map((each) => each.id).join(', ')}.`,
    );
  }
  const backup = candidates.findLast(({ consistentAt }) => atMs === null || consistentAt <= atMs);
  if (backup === undefined) {
    const first = candidates[0] ?? oldest;
    throw new OperatorError(
      `${formatInstant(atMs ?? 0)} cannot be restored: the ${id === null ? 'first backup' : `backup ${id}`} is of ${formatInstant(first.consistentAt)}.`,
    );
  }
  const { wal, untilMs } = reachableWal(inventory, backup);
  if (atMs !== null && atMs > untilMs) throw beyondWal(atMs, untilMs, candidates[candidates.indexOf(backup) + 1]);
  return { backup, wal, untilMs };
}

/** `next`: the backup behind a gap in the WAL. */
function beyondWal(atMs: number, untilMs: number, next: BackupManifest | undefined): OperatorError {
  const reason = `${formatInstant(atMs)} cannot be restored: `;
  return new OperatorError(
    next === undefined
      ? `${reason}the archived WAL ends at ${formatInstant(untilMs)}. Without --at, that time is restored.`
      : `${reason}WAL is missing between ${formatInstant(untilMs)} and the backup of ${formatInstant(next.consistentAt)}. Choose one of these times, an earlier or a later one.`,
  );
}

/** Formats a time for operators: UTC with milliseconds, as `--at` accepts it. */
export const formatInstant = (ms: number): string => new Date(ms).toISOString();

/** Backups from which the newest timeline can be reached. The others belong to states that a restore abandoned. */
export function usableBackups({ backups, wal, history }: BackupInventory): readonly BackupManifest[] {
  const ancestors = parseHistory(history);
  const newest = newestTimeline(wal, backups);
  return backups.filter(({ timeline, lastSegment }) => {
    if (timeline === newest) return true;
    const ancestor = ancestors.find((each) => each.timeline === timeline);
    return ancestor !== undefined && segmentNumber(lastSegment) <= ancestor.leftAt;
  });
}

/** The WAL that follows a backup without a gap, and the time at which it ends. */
export function reachableWal(
  { wal, history, backups }: BackupInventory,
  backup: BackupManifest,
): Pick<RestorePlan, 'wal' | 'untilMs'> {
  /** Last segment of each timeline that leads to the newest one. A restore abandoned the later ones. */
  const ends = new Map(parseHistory(history).map(({ timeline, leftAt }) => [timeline, leftAt]));
  ends.set(newestTimeline(wal, backups), Number.POSITIVE_INFINITY);
  const byNumber = new Map<number, ArchivedWal[]>();
  for (const file of wal) {
    const number = segmentNumber(file.file);
    if (!isSegment(file.file) || number > (ends.get(walTimeline(file.file)) ?? -1)) continue;
    byNumber.set(number, [...(byNumber.get(number) ?? []), file]);
  }
  const reachable = wal.filter(({ file }) => !isSegment(file));
  let untilMs = backup.consistentAt;
  let number = segmentNumber(backup.firstSegment);
  for (let files = byNumber.get(number); files !== undefined; files = byNumber.get(++number)) {
    reachable.push(...files);
    // A segment of an abandoned timeline is longer than what the newest one has of it.
    const [last] = files.toSorted((a, b) => walTimeline(b.file) - walTimeline(a.file));
    untilMs = Math.max(untilMs, last?.completeMs ?? 0);
  }
  if (number <= segmentNumber(backup.lastSegment)) {
    throw new OperatorError(`The backup ${backup.id} cannot be restored: its WAL is not complete in the target.`);
  }
  return { wal: reachable, untilMs };
}

/** Whether WAL is missing behind a backup, so that only a new backup makes restores to later times possible. */
export function hasGapBehind(inventory: BackupInventory, backup: BackupManifest): boolean {
  const newest = newestTimeline(inventory.wal, inventory.backups);
  const [last] = inventory.wal
    .filter(({ file }) => isSegment(file) && walTimeline(file) === newest)
    .toSorted((a, b) => segmentNumber(b.file) - segmentNumber(a.file));
  try {
    return last !== undefined && !reachableWal(inventory, backup).wal.includes(last);
  } catch (error) {
    if (error instanceof OperatorError) return true;
    throw error;
  }
}

/** Name of the history file of the newest timeline; null when there is only the first timeline. */
export function newestHistory(wal: readonly ArchivedWal[]): ArchivedWal | null {
  const histories = wal.filter(({ file }) => !isSegment(file));
  return histories.toSorted((a, b) => walTimeline(b.file) - walTimeline(a.file))[0] ?? null;
}

function newestTimeline(wal: readonly ArchivedWal[], backups: readonly BackupManifest[]): number {
  const history = newestHistory(wal);
  return history === null ? (backups.at(-1)?.timeline ?? 1) : walTimeline(history.file);
}

/** Lines of a history file: timeline, the position at which it was left, and a reason. */
function parseHistory(history: string | null): Ancestor[] {
  return (history ?? '').split('\n').flatMap((line) => {
    const [, timeline, lsn] = /^\s*(\d+)\s+([0-9A-F]+\/[0-9A-F]+)/.exec(line) ?? [];
    return timeline === undefined || lsn === undefined
      ? []
      : [{ timeline: Number(timeline), leftAt: segmentOfLsn(lsn) }];
  });
}

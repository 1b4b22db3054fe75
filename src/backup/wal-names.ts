/** Size of a WAL segment, the default of PostgreSQL and of `initdb`. */
export const SEGMENT_BYTES = 16 * 1024 * 1024;
/** Segments of one log id, the middle eight digits of a name: 4 GiB. */
const SEGMENTS_PER_LOG = 0x1_0000_0000 / SEGMENT_BYTES;
const SEGMENT = /^[0-9A-F]{24}$/;
const ARCHIVED = /^wal\/([0-9A-F]{8}\.history|[0-9A-F]{24})-(\d{13})$/;

/** An archived file of WAL: a segment, or the history of a timeline. */
export interface ArchivedWal {
  /** Name of the object in the target. */
  name: string;
  /** PostgreSQL's name of the file. */
  file: string;
  /** When the file was complete, Unix milliseconds: every commit in it is older. */
  completeMs: number;
}

/** Whether the name is that of a WAL segment. */
export const isSegment = (file: string): boolean => SEGMENT.test(file);

/** Name of the object of a file of WAL that was complete at `completeMs`. */
export function walObjectName(file: string, completeMs: number): string {
  return `wal/${file}-${String(Math.floor(completeMs)).padStart(13, '0')}`;
}

/** Parses the name of an object below `wal/`; null for other names. */
export function parseWalObjectName(name: string): ArchivedWal | null {
  const [, file, completeMs] = ARCHIVED.exec(name) ?? [];
  return file === undefined ? null : { name, file, completeMs: Number(completeMs) };
}

/** Timeline of a segment or a history file. */
export const walTimeline = (file: string): number => Number.parseInt(file.slice(0, 8), 16);

/** Position of a segment in the WAL, equal on all timelines. */
export function segmentNumber(file: string): number {
  return Number.parseInt(file.slice(8, 16), 16) * SEGMENTS_PER_LOG + Number.parseInt(file.slice(16), 16);
}

/** Number of the segment that contains a log sequence number, such as `0/3000028`. */
export function segmentOfLsn(lsn: string): number {
  const [high = '0', low = '0'] = lsn.split('/');
  return Number.parseInt(high, 16) * SEGMENTS_PER_LOG + Math.floor(Number.parseInt(low, 16) / SEGMENT_BYTES);
}

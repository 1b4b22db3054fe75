/**
 * Scheduling policy of grammar compilations: a multilevel feedback queue with two levels. A compilation cannot yield,
 * so it is preempted by ending its thread, and restarts later. Every compilation first runs for one slice; one that
 * needs more is long. Long compilations never occupy the last thread, so that a new compilation waits for slices, not
 * for them.
 */

/** Run time after which a compilation is long. Of the schemas of JSONSchemaBench, 99 % take less than half of it. */
export const COMPILATION_SLICE_MS = 500;
/** Maximum compilations that run at the same time. */
export const MAX_RUNNING = 3;
/** Maximum long compilations that run while new ones wait. */
const MAX_LONG = MAX_RUNNING - 1;

/** A compilation that waits for a thread. */
export interface WaitingCompilation {
  /** The organization. */
  scope: string;
  /** Milliseconds, on any clock. */
  arrivedAt: number;
  /** Whether it was preempted before. */
  isLong: boolean;
}

/** A compilation that has a thread. */
export interface RunningCompilation {
  scope: string;
  /** Run time in milliseconds. */
  ranMs: number;
  /** Whether it was preempted before. It is not preempted again: its work would be lost twice. */
  isLong: boolean;
}

/** State of the compiler. */
export interface CompilerState {
  /** In order of arrival. */
  waiting: readonly WaitingCompilation[];
  running: readonly RunningCompilation[];
  /** Last start of a compilation of an organization, on the clock of `arrivedAt`. Absent: its first one waits. */
  lastStartedAt: ReadonlyMap<string, number>;
}

/** What to do next: start or preempt one compilation, by index, or decide again after some time. */
export type SchedulerAction = { start: number } | { preempt: number } | { waitMs: number } | null;

/**
 * Decides what to do next. An organization runs at most one new and one long compilation while it has others waiting.
 * The organization whose turn is longest ago comes first. Null: nothing to do until the state changes. Pure.
 */
export function nextAction(state: CompilerState): SchedulerAction {
  const { waiting, running } = state;
  const long = running.filter(isLong);
  const startableLong = earliest(
    state,
    (each) => each.isLong && long.length < MAX_LONG && !long.some(({ scope }) => scope === each.scope),
  );
  const isRoom = running.length < MAX_RUNNING;
  // One long compilation always makes progress, however many new ones arrive.
  if (isRoom && startableLong !== null && long.length === 0) return { start: startableLong };
  const fresh = earliest(
    state,
    (each) => !each.isLong && !running.some((other) => other.scope === each.scope && !isLong(other)),
  );
  if (fresh !== null) {
    const excess = excessLong(running, waiting[fresh]?.scope ?? '', isRoom);
    if (excess !== null) return { preempt: excess };
    if (isRoom) return { start: fresh };
  }
  if (isRoom && startableLong !== null) return { start: startableLong };
  const slices = running.flatMap((each) => (isLong(each) ? [] : [COMPILATION_SLICE_MS - each.ranMs]));
  return waiting.length === 0 || slices.length === 0 ? null : { waitMs: Math.min(...slices) };
}

const isLong = (each: RunningCompilation): boolean => each.isLong || each.ranMs >= COMPILATION_SLICE_MS;

/** Index of the waiting compilation to start first among those that match; null for none. */
function earliest(
  { waiting, lastStartedAt }: CompilerState,
  matches: (each: WaitingCompilation) => boolean,
): number | null {
  let first: number | null = null;
  let firstTurn = Number.POSITIVE_INFINITY;
  for (const [index, each] of waiting.entries()) {
    const turn = Math.max(each.arrivedAt, lastStartedAt.get(each.scope) ?? 0);
    if (turn >= firstTurn || !matches(each)) continue;
    first = index;
    firstTurn = turn;
  }
  return first;
}

/**
 * Index of the long compilation to preempt for a new one of `scope`: the youngest of an organization with two of them,
 * or, of too many, the youngest. Null: none has to give way.
 */
function excessLong(running: readonly RunningCompilation[], scope: string, isRoom: boolean): number | null {
  const long = running.flatMap((each, index) => (isLong(each) ? [{ ...each, index }] : []));
  const isRepeated = (each: RunningCompilation): boolean =>
    long.filter((other) => other.scope === each.scope).length > 1;
  const candidates = long.filter(
    (each) => !each.isLong && (isRepeated(each) ? !isRoom || each.scope === scope : !isRoom && long.length > MAX_LONG),
  );
  const repeated = candidates.filter(isRepeated);
  const [youngest] = (repeated.length > 0 ? repeated : candidates).sort((a, b) => a.ranMs - b.ranMs);
  return youngest?.index ?? null;
}

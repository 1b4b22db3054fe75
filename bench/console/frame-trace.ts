/** An event of a Chromium trace. Times are microseconds. */
export interface TraceEvent {
  name: string;
  ph: string;
  pid: number;
  tid: number;
  ts: number;
  dur?: number;
  tdur?: number;
  args: {
    name?: string;
    chrome_frame_reporter?: { state?: string };
    frame_reporter?: { state?: string };
  };
}

/** What a trace says about the frames of a page. */
export interface FrameReport {
  /** Frames of the compositor by outcome. */
  presented: number;
  partial: number;
  dropped: number;
  idle: number;
  /** Tasks of the main thread above 50 ms, and the longest one. */
  longTasks: number;
  longestTaskMs: number;
  /** The same by CPU time: other processes on the machine make tasks longer, but not these figures. */
  longTasksByCpu: number;
  longestTaskCpuMs: number;
  /** CPU time of the main thread per second of the trace; unlike wall time, hardly affected by other processes. */
  mainThreadCpuMsPerSecond: number;
}

const LONG_TASK_US = 50_000;
/** Tasks that hold others: counting both would count time twice. */
const TASK = 'RunTask';

/** Reads frames and tasks of the busiest renderer. */
export function readFrames(events: readonly TraceEvent[], seconds: number): FrameReport {
  const mains = events.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain');
  const busiest = mains
    .map(({ pid, tid }) => events.filter((each) => each.pid === pid && each.tid === tid && each.name === TASK))
    .sort((a, b) => cpuUs(b) - cpuUs(a))[0];
  const tasks = busiest ?? [];
  const pid = tasks[0]?.pid;
  const states = new Map<string, number>();
  for (const { name, ph, args, pid: owner } of events) {
    if (name !== 'PipelineReporter' || ph !== 'b' || owner !== pid) continue;
    const state = (args.chrome_frame_reporter ?? args.frame_reporter)?.state ?? 'unknown';
    states.set(state, (states.get(state) ?? 0) + 1);
  }
  const durations = tasks.map(({ dur = 0 }) => dur);
  const cpuTimes = tasks.map(({ tdur = 0 }) => tdur);
  return {
    presented: states.get('STATE_PRESENTED_ALL') ?? 0,
    partial: states.get('STATE_PRESENTED_PARTIAL') ?? 0,
    dropped: states.get('STATE_DROPPED') ?? 0,
    idle: states.get('STATE_NO_UPDATE_DESIRED') ?? 0,
    longTasks: durations.filter((dur) => dur > LONG_TASK_US).length,
    longestTaskMs: longest(durations) / 1000,
    longTasksByCpu: cpuTimes.filter((time) => time > LONG_TASK_US).length,
    longestTaskCpuMs: longest(cpuTimes) / 1000,
    mainThreadCpuMsPerSecond: cpuUs(tasks) / 1000 / seconds,
  };
}

const longest = (times: readonly number[]): number => times.reduce((most, time) => Math.max(most, time), 0);
const cpuUs = (tasks: readonly TraceEvent[]): number => tasks.reduce((sum, { tdur = 0 }) => sum + tdur, 0);

import type { Schema } from '../api/types.ts';

type Detail = Schema<'LoggedRequestDetail'>;
type StepType = Detail['steps'][number]['type'];

/** A bar of the timeline. Times are milliseconds. */
export interface Bar {
  type: StepType | 'queue' | 'prompt' | 'decode' | 'whole';
  name: string;
  /** Number of the call among the generations of its request, from 1. */
  turn: number;
  start: number;
  duration: number;
}

/** The steps of a request as bars. A request with one model call shows the phases of the call. */
export function toBars(request: Detail): Bar[] {
  let turn = 0;
  if (request.steps.length > 0)
    return request.steps.map(({ type, name, start_ms: start, duration_ms: duration }) => {
      if (type === 'chat') turn += 1;
      return { type, name, turn, start, duration };
    });
  const { duration_ms: total, queue_ms: queue, first_token_ms: first } = request;
  const bar = (type: Bar['type'], start: number, end: number): Bar[] =>
    end > start ? [{ type, name: '', turn: 0, start, duration: end - start }] : [];
  if (first === null && queue === 0) return bar('whole', 0, total);
  const waited = Math.min(queue, first ?? total);
  const phases =
    first === null ? bar('whole', waited, total) : [...bar('prompt', waited, first), ...bar('decode', first, total)];
  return [...bar('queue', 0, waited), ...phases];
}

/** Position and width of a bar as shares of the duration of the request, from 0 to 1; at least visible. */
export function placeBar({ start, duration }: Bar, total: number): { left: number; width: number } {
  const whole = Math.max(1, total, start + duration);
  const width = Math.max(0.006, duration / whole);
  return { left: Math.min(start / whole, 1 - width), width };
}

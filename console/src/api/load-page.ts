/** Pause between two looks for a service that does not answer. */
const PAUSE_MS = 2_000;

let waiting = 0;
const listeners = new Set<() => void>();

/** Whether a page waits for a service that does not answer. */
export const isWaitingForService = (): boolean => waiting > 0;

/** Calls `listener` when `isWaitingForService` changes. Returns a function that ends this. */
export function subscribeToWaiting(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/**
 * Loads the file of a page. While the service does not answer, waits for it and loads the file again: a reload would
 * replace the console by the error page of the browser. Rejects when the service answers and the file cannot be loaded.
 */
export async function loadPage<T>(load: () => Promise<T>, pauseMs = PAUSE_MS): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (await isReachable()) throw error;
  }
  changeWaiting(1);
  try {
    do await new Promise((resolve) => setTimeout(resolve, pauseMs));
    while (!(await isReachable()));
    return await load();
  } finally {
    changeWaiting(-1);
  }
}

async function isReachable(): Promise<boolean> {
  try {
    await fetch('/healthz', { cache: 'no-store' });
    return true;
  } catch {
    return false;
  }
}

function changeWaiting(difference: number): void {
  waiting += difference;
  for (const listener of listeners) listener();
}

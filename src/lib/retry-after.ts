/** Parses a `Retry-After` header, in seconds or as a date, to milliseconds; null without a valid one. */
export function parseRetryAfter(header: string | null | undefined): number | null {
  if (header == null || header.trim() === '') return null;
  const seconds = Number(header);
  const waitMs = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000;
  return Number.isNaN(waitMs) ? null : Math.max(0, waitMs);
}

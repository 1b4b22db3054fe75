/** Parses a `Retry-After` header, in seconds or as a date, to milliseconds. Null without a valid one. */
export function retryDelayMs(header: string | undefined, now = Date.now()): number | null {
  if (header === undefined) return null;
  if (/^\d{1,9}$/.test(header.trim())) return Number(header) * 1000;
  const at = Date.parse(header);
  return Number.isNaN(at) ? null : Math.max(0, at - now);
}

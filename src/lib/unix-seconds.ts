/** Converts a date to Unix seconds, as the API shows times. */
export function toUnixSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}

/** Converts a date, or milliseconds since 1970, to Unix seconds, as the API shows times. */
export function toUnixSeconds(time: Date | number): number {
  return Math.floor(Number(time) / 1000);
}

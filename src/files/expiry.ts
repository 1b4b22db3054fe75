import { parse } from '../http/validation.ts';
import { FileExpiration } from './schema.ts';

/** Names of the form fields. */
export const EXPIRY_FIELDS = ['expires_after[anchor]', 'expires_after[seconds]'] as const;

/** Parses the fields of a form. Returns null when both are absent; throws 400 with param `expires_after.*`. */
export function parseExpiry(fields: ReadonlyMap<string, string>): number | null {
  const [anchor, seconds] = EXPIRY_FIELDS.map((field) => fields.get(field));
  if (anchor === undefined && seconds === undefined) return null;
  // Forms have texts only.
  const isInteger = seconds !== undefined && /^\d{1,9}$/.test(seconds);
  const value = {
    ...(anchor !== undefined && { anchor }),
    ...(seconds !== undefined && { seconds: isInteger ? Number(seconds) : seconds }),
  };
  return parse(FileExpiration, value, 'expires_after').seconds;
}

/** The time after a number of seconds; null for null. */
export const addSeconds = (at: Date, seconds: number | null): Date | null =>
  seconds === null ? null : new Date(at.getTime() + seconds * 1_000);

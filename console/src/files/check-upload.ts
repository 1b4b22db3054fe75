/** Limits of uploads, as the API description of the service states them (`x-limits` of the schema `UploadForm`). */
export interface UploadLimits {
  max_bytes: number;
  /** Accepted file extensions by purpose: lower case, with the dot. */
  extensions: Readonly<Record<string, readonly string[]>>;
}

/** Why the service would reject a file. */
export type UploadDefect =
  | { kind: 'type'; extensions: readonly string[] }
  | { kind: 'empty' }
  | { kind: 'too_large'; maxBytes: number };

/** Returns why the service would reject a file of this name and size (in bytes); null if it may be uploaded. */
export function checkUpload(
  { name, size }: { name: string; size: number },
  purpose: string,
  { max_bytes: maxBytes, extensions }: UploadLimits,
): UploadDefect | null {
  const accepted = extensions[purpose] ?? [];
  const trimmed = name.trim().toLowerCase();
  const dot = trimmed.lastIndexOf('.');
  if (dot === -1 || !accepted.includes(trimmed.slice(dot))) return { kind: 'type', extensions: accepted };
  if (size === 0) return { kind: 'empty' };
  return size > maxBytes ? { kind: 'too_large', maxBytes } : null;
}

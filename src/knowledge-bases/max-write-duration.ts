/**
 * Maximum duration of a write to the index, in milliseconds. Writes take seconds; after this time, none that began
 * earlier is running.
 */
export const MAX_WRITE_DURATION_MS = 60 * 60 * 1000;

interface JsonKinds {
  array: unknown[];
  object: Record<string, unknown>;
  any: unknown;
}

/** Parses a JSON text. Returns null for invalid JSON, and for a value of another kind. */
export function parseJson<Kind extends keyof JsonKinds = 'any'>(text: string, kind?: Kind): JsonKinds[Kind] | null {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
    const isKind = kind === 'array' ? Array.isArray(value) : kind === 'object' ? isObject : true;
    return isKind ? (value as JsonKinds[Kind]) : null;
  } catch {
    return null;
  }
}

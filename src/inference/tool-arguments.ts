/**
 * Arguments of a tool call as an object. A model without constraints, or at its token limit, may write no JSON object:
 * the result is then empty.
 */
export function parseToolArguments(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  } catch {
    return {};
  }
}

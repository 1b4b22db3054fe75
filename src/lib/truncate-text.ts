/** Truncates to `limit` UTF-16 units and appends the original length. */
export function truncateText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, limit).toWellFormed()}... (${text.length} characters)`;
}

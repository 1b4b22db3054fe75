/** The text, or its beginning, which says then how long all of it is. `limit` is in UTF-16 units. */
export function truncateText(text: string, limit: number): string {
  if (text.length <= limit) return text;
  return `${text.slice(0, limit).toWellFormed()}... (${text.length} characters)`;
}

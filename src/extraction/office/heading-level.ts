/** Converts an outline level (0 to 8; 9 is body text) to a heading level, 1 to 6. */
export function outlineToHeading(outline: number): number | null {
  return outline >= 0 && outline < 9 ? Math.min(outline + 1, 6) : null;
}

/** Heading level of a paragraph style by its name, which is English in files of any language; null for others. */
export function headingLevelByName(name: string): number | null {
  if (/^title$/i.test(name)) return 1;
  const level = /^heading ?([1-9])$/i.exec(name)?.[1];
  return level === undefined ? null : Math.min(Number(level), 6);
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

const FILE = new URL('../docs/develop/guides.md', import.meta.url);

/** Reads the guides for contributors: title and diff. */
export function readGuides(): { title: string; diff: string }[] {
  const sections = readFileSync(FILE, 'utf8').split(/^## /m).slice(1);
  return sections.map((section) => {
    const [title = ''] = section.split('\n', 1);
    const diff = /^```diff\n([\s\S]*?)^```$/m.exec(section)?.[1];
    assert.ok(diff !== undefined, `${title} has no diff`);
    return { title, diff };
  });
}

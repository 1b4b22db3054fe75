import type { Archive } from '../office/archive.ts';
import { readXml } from '../office/xml.ts';

/** Numbers list items. Stateful: call it in document order. */
export interface WordLists {
  /** Returns the marker of the next item, such as `- ` or `3. `, indented by `level` (0: outermost). */
  nextMarker(list: string, level: number): string;
}

/** Reads the list definitions of a Word document. All numbering formats are written as decimal numbers. */
export async function readLists(archive: Archive, part: string): Promise<WordLists> {
  const formats = new Map<string, string>();
  const abstractIds = new Map<string, string>();
  let [abstract, level, list] = ['', '', ''];
  await readXml(archive.read(part), {
    open: (name, { abstractNumId = '', ilvl = '', numId = '', val = '' }) => {
      if (name === 'abstractNum') abstract = abstractNumId;
      else if (name === 'lvl') level = ilvl;
      else if (name === 'numFmt') formats.set(`${abstract} ${level}`, val);
      else if (name === 'num') list = numId;
      else if (name === 'abstractNumId') abstractIds.set(list, val);
    },
  });
  const counters = new Map<string, number[]>();
  return {
    nextMarker: (id, depth) => {
      const format = formats.get(`${abstractIds.get(id) ?? ''} ${depth}`) ?? 'bullet';
      const counts = counters.get(id) ?? [];
      counters.set(id, counts);
      counts.length = depth + 1;
      counts[depth] = (counts[depth] ?? 0) + 1;
      const indent = '  '.repeat(depth);
      return format === 'bullet' || format === 'none' ? `${indent}- ` : `${indent}${counts[depth]}. `;
    },
  };
}

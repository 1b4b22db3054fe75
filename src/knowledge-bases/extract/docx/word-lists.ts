import type { Archive } from './archive.ts';
import { readXml } from './xml.ts';

/** Gives the items of lists their signs, in the order of the text. */
export interface WordLists {
  /** What stands before an item, such as `- ` or `3. `; `level` is 0 for the outermost list. */
  signOf(list: string, level: number): string;
}

/** Reads how the lists of a Word document are numbered. Numbers are written in digits, whichever way the document writes them. */
export async function readLists(archive: Archive, part: string): Promise<WordLists> {
  const formats = new Map<string, string>();
  const abstracts = new Map<string, string>();
  let [abstract, level, list] = ['', '', ''];
  await readXml(archive.read(part), {
    open: (name, { abstractNumId = '', ilvl = '', numId = '', val = '' }) => {
      if (name === 'abstractNum') abstract = abstractNumId;
      else if (name === 'lvl') level = ilvl;
      else if (name === 'numFmt') formats.set(`${abstract} ${level}`, val);
      else if (name === 'num') list = numId;
      else if (name === 'abstractNumId') abstracts.set(list, val);
    },
    close: () => {},
    text: () => {},
  });
  const counters = new Map<string, number[]>();
  return {
    signOf: (id, depth) => {
      const abstractId = abstracts.get(id) ?? '';
      const format = formats.get(`${abstractId} ${depth}`) ?? 'bullet';
      const counts = counters.get(id) ?? [];
      counters.set(id, counts);
      counts.length = depth + 1;
      counts[depth] = (counts[depth] ?? 0) + 1;
      const indent = '  '.repeat(depth);
      return format === 'bullet' || format === 'none' ? `${indent}- ` : `${indent}${counts[depth]}. `;
    },
  };
}

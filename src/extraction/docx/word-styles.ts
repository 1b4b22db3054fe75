import type { Archive } from '../office/archive.ts';
import { headingLevelByName, outlineToHeading } from '../office/heading-level.ts';
import { readXml } from '../office/xml.ts';

/** Maximum length of a chain of `basedOn` styles. */
const MAX_BASES = 20;

interface Style {
  name: string;
  basedOn: string | null;
  outline: number | null;
  list: string | null;
}

/** Resolves paragraph styles, with inheritance. */
export interface WordStyles {
  /** Heading level, 1 to 6; null for other styles. */
  headingLevel(style: string | null): number | null;
  /** Id of the list that paragraphs of the style belong to; null for none. */
  listId(style: string | null): string | null;
}

/** Reads the styles of a Word document. */
export async function readStyles(archive: Archive, part: string): Promise<WordStyles> {
  const styles = new Map<string, Style>();
  let current: Style | null = null;
  await readXml(archive.read(part), {
    open: (name, { styleId = '', val = '' }) => {
      if (name === 'style') {
        current = { name: '', basedOn: null, outline: null, list: null };
        styles.set(styleId, current);
      } else if (current !== null && name === 'name') current.name = val;
      else if (current !== null && name === 'basedOn') current.basedOn = val;
      else if (current !== null && name === 'outlineLvl') current.outline = Number(val);
      else if (current !== null && name === 'numId') current.list = val;
    },
    close: (name) => {
      if (name === 'style') current = null;
    },
  });
  const inherited = <T>(id: string | null, property: (style: Style) => T | null): T | null => {
    let style = styles.get(id ?? '');
    for (let i = 0; style !== undefined && i < MAX_BASES; i++) {
      const value = property(style);
      if (value !== null) return value;
      style = styles.get(style.basedOn ?? '');
    }
    return null;
  };
  return {
    headingLevel: (id) => (id === null ? null : (inherited(id, styleLevel) ?? headingLevelByName(id))),
    listId: (id) => inherited(id, ({ list }) => list),
  };
}

function styleLevel({ name, outline }: Style): number | null {
  return outline === null ? headingLevelByName(name) : outlineToHeading(outline);
}

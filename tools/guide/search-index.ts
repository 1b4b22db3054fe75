import { Parser } from 'htmlparser2';
import MiniSearch from 'minisearch';
import type { GuidePage } from './layout.ts';
import { GUIDE_PATH } from './markdown.ts';

/** A searchable part of a page: a heading with the text up to the next one. */
export interface SearchSection {
  /** URL with the fragment of the heading. */
  id: string;
  page: string;
  title: string;
  text: string;
}

/** Characters of a section that are stored for the list of hits. */
const EXCERPT_CHARACTERS = 140;

/** Divides a page at its headings. */
export function splitSections({ path, title, html }: GuidePage): SearchSection[] {
  const url = path === '' ? GUIDE_PATH : `${GUIDE_PATH}/${path}`;
  const sections: SearchSection[] = [];
  let isHeading = false;
  let isButton = false;
  const parser = new Parser({
    onopentag(name, { id }) {
      isButton = name === 'button';
      if (!/^h[1-4]$/.test(name) || id === undefined) return;
      isHeading = true;
      sections.push({ id: name === 'h1' ? url : `${url}#${id}`, page: title, title: '', text: '' });
    },
    ontext(text) {
      const section = sections.at(-1);
      if (section === undefined || isButton) return;
      if (isHeading) section.title += text;
      else section.text += text;
    },
    onclosetag(name) {
      isButton = false;
      if (/^h[1-4]$/.test(name)) isHeading = false;
      const section = sections.at(-1);
      if (section !== undefined && /^(p|li|td|th|pre|dd|dt|h4|summary)$/.test(name)) section.text += ' ';
    },
  });
  parser.end(html);
  return sections.map((section) => ({ ...section, text: section.text.replace(/\s+/g, ' ').trim() }));
}

/** Options of the index; `assets/guide.js` loads it with the same ones. */
export const SEARCH_OPTIONS = {
  fields: ['title', 'page', 'text'],
  storeFields: ['page', 'title', 'excerpt'],
};

/** Returns the JSON of the index over all pages. */
export function buildSearchIndex(pages: readonly GuidePage[]): string {
  const index = new MiniSearch<SearchSection & { excerpt: string }>(SEARCH_OPTIONS);
  const sections = pages.flatMap(splitSections);
  index.addAll(sections.map((section) => ({ ...section, excerpt: section.text.slice(0, EXCERPT_CHARACTERS) })));
  return JSON.stringify(index);
}

import type { Passage } from './passage.ts';

/** Tags and quotation marks of three that people put around texts. */
const FENCE =
  /<(\/?)(context|documents?|docs?|passages?|sources?|articles?|texts?|excerpts?|results?|search_results?|knowledge|reference|data|content|document_content)\b([^<>]{0,400})>|"""|'''/gi;
const TITLE = /\b(?:title|name|source)\s*=\s*["']([^"']+)["']/i;
/** Tags within tags at most; what is deeper is no passage. */
const MAX_DEPTH = 16;

interface Open {
  name: string;
  attributes: string;
  /** Where the text between begins. */
  from: number;
  /** Where the tag itself does. */
  at: number;
  hasInner: boolean;
}

/**
 * What stands between tags or long quotation marks, of tags within tags the inner ones, and what is outside of all. Null
 * where there are none. One pass over the text.
 */
export function fencedPassages(text: string): { passages: Passage[]; outside: string } | null {
  const passages: Passage[] = [];
  const outside: string[] = [];
  const open: Open[] = [];
  let outsideFrom = 0;
  for (const mark of text.matchAll(FENCE)) {
    const [whole, slash = '', tag, attributes = ''] = mark;
    const name = (tag ?? whole).toLowerCase();
    const begun = open.findLastIndex((one) => one.name === name);
    const closes = tag === undefined ? begun >= 0 : slash !== '';
    if (!closes) {
      if (open.length >= MAX_DEPTH) open.shift();
      open.push({ name, attributes, from: mark.index + whole.length, at: mark.index, hasInner: false });
      continue;
    }
    const one = open[begun];
    if (one === undefined) continue;
    open.length = begun;
    const inner = text.slice(one.from, mark.index).trim();
    const title = TITLE.exec(one.attributes)?.[1];
    if (!one.hasInner && inner !== '') passages.push({ ...(title !== undefined && { title }), text: inner });
    for (const outer of open) outer.hasInner = true;
    if (open.length > 0) continue;
    outside.push(text.slice(outsideFrom, one.at));
    outsideFrom = mark.index + whole.length;
  }
  if (passages.length === 0) return null;
  outside.push(text.slice(outsideFrom));
  return { passages, outside: outside.join('\n\n') };
}

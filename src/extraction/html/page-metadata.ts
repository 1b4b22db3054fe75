import type { DocumentMetadata } from '../document-metadata.ts';
import { flattenMetadata, normalizeTitle } from '../flatten-metadata.ts';
import type { PageDocument } from './parse-page.ts';

/** `meta` elements by metadata key, the most specific first. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  description: ['description', 'og:description', 'twitter:description', 'dc.description'],
  author: ['author', 'article:author', 'dc.creator', 'dc.author', 'parsely-author'],
  published: ['article:published_time', 'date', 'dc.date', 'dcterms.created', 'parsely-pub-date', 'datepublished'],
  modified: ['article:modified_time', 'og:updated_time', 'last-modified', 'dcterms.modified'],
  site_name: ['og:site_name', 'application-name'],
  keywords: ['keywords', 'news_keywords'],
};
/** Maximum `meta` elements that are read. */
const MAX_METAS = 500;

/** Returns the title and the metadata of a page: description, author, dates, language, canonical URL. */
export function pageMetadata(document: PageDocument): { title: string | null; metadata: DocumentMetadata } {
  const metas = new Map<string, string>();
  for (const meta of [...document.querySelectorAll('meta')].slice(0, MAX_METAS)) {
    const content = meta.getAttribute('content')?.trim();
    const names = (
      meta.getAttribute('name') ??
      meta.getAttribute('property') ??
      meta.getAttribute('itemprop') ??
      ''
    ).toLowerCase();
    for (const name of names.split(/\s+/)) if (content && !metas.has(name)) metas.set(name, content);
  }
  const first = (names: readonly string[]) => names.map((name) => metas.get(name)).find((value) => value !== undefined);
  const fields: Record<string, unknown> = {};
  for (const [field, names] of Object.entries(FIELDS)) fields[field] = first(names);
  if (typeof fields['keywords'] === 'string') fields['keywords'] = fields['keywords'].split(',');
  // A URL is the author's page, not a name.
  if (/^https?:\/\//.test(String(fields['author'] ?? ''))) fields['author'] = undefined;
  fields['language'] = document.documentElement.getAttribute('lang') || metas.get('og:locale');
  fields['canonical_url'] =
    document.querySelector('link[rel="canonical"]')?.getAttribute('href') || metas.get('og:url');
  const title =
    normalizeTitle(document.querySelector('title')?.textContent) ?? normalizeTitle(first(['og:title', 'dc.title']));
  return { title, metadata: flattenMetadata(fields) };
}

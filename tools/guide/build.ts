/**
 * Builds the guide into `console/dist/guide`: pages of `docs/use`, the API reference of `docs/openapi.json`, and the
 * search index. `console/build.js` runs it after the console.
 */
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import MarkdownIt from 'markdown-it';
import { GUIDE, REFERENCE } from './contents.ts';
import { type GuidePage, layOut, type NavigationGroup } from './layout.ts';
import { GUIDE_PATH, renderPage } from './markdown.ts';
import { renderReference, renderReferenceStart } from './reference.ts';
import type { Json } from './schema-fields.ts';
import { buildSearchIndex } from './search-index.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FONT = '@fontsource-variable/inter/files/inter-latin-opsz-normal.woff2';
const ASSETS = {
  'guide.css': 'tools/guide/assets/guide.css',
  'guide.js': 'tools/guide/assets/guide.js',
  'theme.js': 'tools/guide/assets/theme.js',
  'tokens.css': 'console/src/ui/tokens.css',
  'minisearch.js': 'node_modules/minisearch/dist/es/index.js',
  'inter.woff2': `node_modules/${FONT}`,
};

/** The pages of the guide, by section of its table of contents. */
export function readGuide(): NavigationGroup[] {
  const api = JSON.parse(readFileSync(join(ROOT, 'docs/openapi.json'), 'utf8')) as Json;
  const groups = GUIDE.map(({ title, pages }) => ({
    title,
    pages: pages.map((path) => {
      const text = readFileSync(join(ROOT, 'docs/use', `${path}.md`), 'utf8');
      return { path, ...renderPage(text, path) };
    }),
  }));
  const operations = REFERENCE.map((group) => renderReference(api, group));
  const reference = { title: 'API reference', pages: [renderReferenceStart(api, REFERENCE), ...operations] };
  const all = [...groups, reference];
  return [{ title: 'Quire', pages: [renderStart(all)] }, ...all];
}

/** The first page: the contents as tiles. */
function renderStart(groups: readonly NavigationGroup[]): GuidePage {
  const { escapeHtml } = new MarkdownIt().utils;
  const tiles = groups.map(({ title, pages }) => {
    const links = pages.map((page) => `<li><a href="${GUIDE_PATH}/${page.path}">${escapeHtml(page.title)}</a></li>`);
    return `<section><h2>${escapeHtml(title)}</h2><ul>${links.join('')}</ul></section>`;
  });
  const html = `<h1 id="guide">Guide</h1><p>How to use and operate this service. It works offline. To try requests in the browser, open the <a href="/playground">playground</a>.</p><div class="tiles">${tiles.join('')}</div>`;
  return { path: '', title: 'Guide', html, headings: [] };
}

/** Writes all files of the guide below `folder`, which is emptied. */
export function buildGuide(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'assets'), { recursive: true });
  const groups = readGuide();
  const pages = groups.flatMap((group) => group.pages);
  for (const page of pages) {
    const file = join(folder, `${page.path === '' ? 'index' : page.path}.html`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, layOut(page, groups));
  }
  for (const [name, source] of Object.entries(ASSETS)) copyFileSync(join(ROOT, source), join(folder, 'assets', name));
  writeFileSync(join(folder, 'assets/search.json'), buildSearchIndex(pages.slice(1)));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) buildGuide(join(ROOT, 'console/dist/guide'));

import MarkdownIt from 'markdown-it';
import { GUIDE_PATH, type Heading } from './markdown.ts';

const { escapeHtml } = new MarkdownIt().utils;

/** A page of the guide without its frame. */
export interface GuidePage {
  /** Below `GUIDE_PATH`. */
  path: string;
  title: string;
  html: string;
  headings: readonly Heading[];
}

/** A group of links of the sidebar. */
export interface NavigationGroup {
  title: string;
  pages: readonly GuidePage[];
}

/** Returns the HTML document of a page, with the navigation, its table of contents and the pages before and after. */
export function layOut(page: GuidePage, groups: readonly NavigationGroup[]): string {
  const all = groups.flatMap(({ pages }) => pages);
  const at = all.indexOf(page);
  const sections = page.headings.filter(({ level }) => level === 2 || level === 3);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="${escapeHtml(page.title)}: guide of Quire">
<title>${escapeHtml(page.title)} · Quire</title>
<link rel="icon" href="/favicon.svg" type="image/svg+xml">
<link rel="stylesheet" href="${GUIDE_PATH}/assets/guide.css">
<script src="${GUIDE_PATH}/assets/theme.js"></script>
<script type="module" src="${GUIDE_PATH}/assets/guide.js"></script>
</head>
<body>
<a class="skip" href="#content">Skip to the content</a>
<header>
<button type="button" id="menu" aria-expanded="false" aria-controls="navigation" aria-label="Contents" hidden>☰</button>
<a class="brand" href="${GUIDE_PATH}">Quire guide</a>
<div class="search">
<input id="search" type="search" placeholder="Search (/)" aria-label="Search the guide" role="combobox" aria-expanded="false" aria-controls="hits" aria-autocomplete="list" autocomplete="off" hidden>
<ul id="hits" role="listbox" aria-label="Results" hidden></ul>
</div>
<a href="/">Console</a>
<button type="button" id="theme" aria-label="Light or dark" hidden>◐</button>
</header>
<div class="columns">
<nav id="navigation" aria-label="Guide">
${groups.map((group) => renderGroup(group, page)).join('\n')}
</nav>
<main id="content" tabindex="-1">
${page.html}
<nav class="neighbours" aria-label="Pages before and after">
${renderNeighbour(all[at - 1], 'Before')}${renderNeighbour(all[at + 1], 'Next')}
</nav>
</main>
<aside aria-label="On this page">${sections.length > 1 ? renderSections(sections) : ''}</aside>
</div>
</body>
</html>
`;
}

const pageUrl = ({ path }: GuidePage): string => (path === '' ? GUIDE_PATH : `${GUIDE_PATH}/${path}`);

function renderGroup({ title, pages }: NavigationGroup, current: GuidePage): string {
  const links = pages.map((page) => {
    const mark = page === current ? ' aria-current="page"' : '';
    return `<li><a href="${pageUrl(page)}"${mark}>${escapeHtml(page.title)}</a></li>`;
  });
  return `<h2>${escapeHtml(title)}</h2>\n<ul>${links.join('')}</ul>`;
}

const renderNeighbour = (page: GuidePage | undefined, label: string): string =>
  page === undefined
    ? '<span></span>'
    : `<a href="${pageUrl(page)}"><small>${label}</small>${escapeHtml(page.title)}</a>`;

function renderSections(sections: readonly Heading[]): string {
  const links = sections.map(
    ({ level, text, id }) => `<li class="level-${level}"><a href="#${id}">${escapeHtml(text)}</a></li>`,
  );
  return `<h2>On this page</h2>\n<ul>${links.join('')}</ul>`;
}

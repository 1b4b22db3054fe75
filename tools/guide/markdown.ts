import { posix } from 'node:path';
import MarkdownIt from 'markdown-it';

/** Path of the guide in the service. */
export const GUIDE_PATH = '/docs/guide';

/** A heading of a page. */
export interface Heading {
  level: number;
  text: string;
  /** Fragment of its URL, as on GitHub. */
  id: string;
}

/** A page of Markdown as HTML. */
export interface RenderedPage {
  title: string;
  html: string;
  headings: readonly Heading[];
}

const MARKDOWN = new MarkdownIt({ html: false });

type Token = ReturnType<typeof MARKDOWN.parse>[number];

/** Returns the fragment of a heading as GitHub forms it; `used` counts the fragments of the page. */
export function slugify(text: string, used: Map<string, number>): string {
  const slug = text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');
  const count = used.get(slug) ?? 0;
  used.set(slug, count + 1);
  return count === 0 ? slug : `${slug}-${count}`;
}

/**
 * Returns the URL in the guide of a link on the page `page` (a path below `docs/use` without `.md`); null for files
 * that are only in the repository.
 */
export function guideUrl(href: string, page: string): string | null {
  if (/^[a-z]+:/.test(href) || href.startsWith('#') || href.startsWith('/')) return href;
  const [path = '', fragment] = href.split('#');
  const target = posix.join(posix.dirname(page), path);
  if (target.startsWith('..') || !target.endsWith('.md')) return null;
  return `${GUIDE_PATH}/${target.slice(0, -'.md'.length)}${fragment === undefined ? '' : `#${fragment}`}`;
}

/** Text of an inline token without markup. */
const inlineText = (token: Token | undefined): string =>
  (token?.children ?? [])
    .filter(({ type }) => type === 'text' || type === 'code_inline')
    .map(({ content }) => content)
    .join('');

/** Renders a page of `docs/use`. Links to files that the guide does not have become text. */
export function renderPage(text: string, page: string): RenderedPage {
  const tokens = MARKDOWN.parse(text, {});
  const used = new Map<string, number>();
  const headings: Heading[] = [];
  for (const [at, token] of tokens.entries()) {
    if (token.type === 'heading_open') {
      const heading = inlineText(tokens[at + 1]);
      const id = slugify(heading, used);
      token.attrSet('id', id);
      headings.push({ level: Number(token.tag.slice(1)), text: heading, id });
    }
    if (token.type === 'inline') rewriteLinks(token.children ?? [], page);
  }
  const title = headings.find(({ level }) => level === 1)?.text ?? page;
  return { title, html: MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}), headings };
}

function rewriteLinks(tokens: Token[], page: string): void {
  let isRepositoryFile = false;
  for (const token of tokens) {
    if (token.type === 'link_open') {
      const url = guideUrl(String(token.attrGet('href') ?? ''), page);
      isRepositoryFile = url === null;
      if (url === null) Object.assign(token, { type: 'em_open', tag: 'span', attrs: [['class', 'repository']] });
      else token.attrSet('href', url);
    } else if (token.type === 'link_close' && isRepositoryFile) {
      Object.assign(token, { type: 'em_close', tag: 'span' });
      isRepositoryFile = false;
    } else if (token.type === 'image') {
      // Pictures of the repository are not served.
      Object.assign(token, { type: 'text', content: '', children: null });
    }
  }
}

function renderCode({ info, content }: Token): string {
  const language = MARKDOWN.utils.escapeHtml(info.trim());
  const code = MARKDOWN.utils.escapeHtml(content);
  return `<div class="code"><button type="button" class="copy" hidden>Copy</button><pre tabindex="0"><code data-language="${language}">${code}</code></pre></div>\n`;
}

MARKDOWN.renderer.rules['table_open'] = () => '<div class="table" tabindex="0"><table>';
MARKDOWN.renderer.rules['table_close'] = () => '</table></div>';
MARKDOWN.renderer.rules['fence'] = (tokens, at) => renderCode(tokens[at] as Token);

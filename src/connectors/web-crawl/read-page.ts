import { createHash } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { Parser } from 'htmlparser2';
import { normalizeUrl } from './url-rules.ts';

/** Maximum links of one page. */
const MAX_LINKS = 2000;
/** Characters parsed before other requests run. */
const CHARACTERS_PER_SLICE = 65_536;
/** A page with scripts and less visible text than this is taken for one that needs JavaScript. */
const MIN_VISIBLE_CHARACTERS = 120;
/** Bytes in which a page declares its charset, as in the HTML standard. */
const SNIFFED_BYTES = 1024;
const MAX_TITLE_CHARACTERS = 300;
const INVISIBLE: ReadonlySet<string> = new Set(['script', 'style', 'noscript', 'template', 'svg', 'iframe', 'title']);
/** Elements in which applications render. */
const APP_ROOT = /^(root|app|__next|__nuxt|app-root|main-app)$/;

/** What a crawl needs of an HTML page. */
export interface PageFacts {
  title: string | null;
  /** Normalized, in order, without duplicates. */
  links: string[];
  /** `<link rel="canonical">`, normalized. */
  canonical: string | null;
  /** From `<meta name="robots">`. */
  noIndex: boolean;
  noFollow: boolean;
  /** SHA-256 of title, description and visible text, hexadecimal. */
  fingerprint: string;
  /** Whether the page shows its text only with JavaScript. */
  needsJavaScript: boolean;
}

/** Reads an HTML page. Takes linear time and yields to other work between slices. Throws the signal's reason. */
export async function readPage(
  bytes: Uint8Array,
  { url, charset }: { url: string; charset: string | null },
  signal: AbortSignal,
): Promise<PageFacts> {
  const html = decode(bytes, charset);
  const reader = new PageReader(url);
  const parser = new Parser(reader, { decodeEntities: true, lowerCaseTags: true });
  for (let from = 0; from < html.length; from += CHARACTERS_PER_SLICE) {
    signal.throwIfAborted();
    parser.write(html.slice(from, from + CHARACTERS_PER_SLICE));
    if (from > 0) await setImmediate();
  }
  parser.end();
  return reader.facts();
}

/** Decodes a page for its links and title; the extraction detects charsets more precisely. */
function decode(bytes: Uint8Array, charset: string | null): string {
  const head = Buffer.from(bytes.subarray(0, SNIFFED_BYTES)).toString('latin1');
  const declared = /<meta[^>]+charset\s*=\s*["']?([\w.:-]+)/i.exec(head)?.[1] ?? null;
  try {
    return new TextDecoder(charset ?? declared ?? 'utf-8').decode(bytes);
  } catch {
    // An unknown charset: the ASCII of links is the same in nearly all of them.
    return new TextDecoder('utf-8').decode(bytes);
  }
}

/** Handler of the HTML parser. */
class PageReader {
  #base: string;
  readonly #links = new Set<string>();
  readonly #hash = createHash('sha256');
  #title = '';
  #isInTitle = false;
  #canonical: string | null = null;
  #robots = '';
  #hidden = 0;
  #visibleCharacters = 0;
  #hasScript = false;
  #hasAppRoot = false;

  constructor(url: string) {
    this.#base = url;
  }

  onopentag(name: string, attributes: Record<string, string>): void {
    if (INVISIBLE.has(name)) this.#hidden += 1;
    if (name === 'title') this.#isInTitle = this.#title === '';
    else if (name === 'script') this.#hasScript = true;
    else if (name === 'base' && attributes['href'] !== undefined) this.#setBase(attributes['href']);
    else if (name === 'meta') this.#readMeta(attributes);
    else if (name === 'link' && /\bcanonical\b/i.test(attributes['rel'] ?? '')) {
      this.#canonical ??= normalizeUrl(attributes['href'] ?? '', this.#base);
    } else if ((name === 'a' || name === 'area') && !/\bnofollow\b/i.test(attributes['rel'] ?? '')) {
      this.#addLink(attributes['href']);
    } else if (name === 'iframe' || name === 'frame') this.#addLink(attributes['src']);
    if (APP_ROOT.test(attributes['id'] ?? name)) this.#hasAppRoot = true;
  }

  ontext(text: string): void {
    if (this.#isInTitle) this.#title += text;
    if (this.#hidden > 0) return;
    const visible = text.replaceAll(/\s+/g, ' ');
    if (visible === ' ') return;
    this.#visibleCharacters += visible.trim().length;
    this.#hash.update(visible.trim());
  }

  onclosetag(name: string): void {
    if (INVISIBLE.has(name) && this.#hidden > 0) this.#hidden -= 1;
    if (name === 'title') this.#isInTitle = false;
  }

  facts(): PageFacts {
    // PostgreSQL does not accept NUL.
    const title = this.#title
      .replaceAll(/[\s\0]+/g, ' ')
      .trim()
      .slice(0, MAX_TITLE_CHARACTERS);
    const isEmpty = this.#visibleCharacters < MIN_VISIBLE_CHARACTERS;
    return {
      title: title === '' ? null : title,
      links: [...this.#links],
      canonical: this.#canonical,
      noIndex: /\b(noindex|none)\b/i.test(this.#robots),
      noFollow: /\b(nofollow|none)\b/i.test(this.#robots),
      fingerprint: this.#hash.update(title).digest('hex'),
      needsJavaScript: isEmpty && this.#hasScript && (this.#hasAppRoot || this.#visibleCharacters === 0),
    };
  }

  #setBase(href: string): void {
    if (URL.canParse(href, this.#base)) this.#base = new URL(href, this.#base).href;
  }

  #readMeta({ name, content }: Record<string, string>): void {
    if (/^(robots|quirebot)$/i.test(name ?? '')) this.#robots += ` ${content ?? ''}`;
    if (/^description$/i.test(name ?? '')) this.#hash.update(content ?? '');
  }

  #addLink(href: string | undefined): void {
    if (href === undefined || this.#links.size >= MAX_LINKS) return;
    const url = normalizeUrl(href.trim(), this.#base);
    if (url !== null) this.#links.add(url);
  }
}

import { collapseWhitespace } from '../../lib/clean-text.ts';
import type { PageDocument } from './parse-page.ts';

/** Text of a link from a heading to itself: a sign, or nothing that is shown. */
const PERMALINK = /^(?:\s|[¶#§⚓🔗\u200b\ufeff]|\u200d|\ufe0f)*$/u;
/** Text of a link that changes or reports the page instead of continuing it. */
const EDIT_LINK =
  /^\W*(?:(?:edit|improve|suggest (?:an? )?(?:edit|change)s?(?: to)?) (?:this )?(?:page|article|section|doc|document)|edit (?:this page )?on git(?:hub|lab)|(?:view|show) (?:page )?source|suggest edits|report (?:a bug|an issue|a problem))(?: (?:on|in) git(?:hub|lab))?\W*$/iu;
/** Maximum characters of the links that are looked at. */
const MAX_CHARACTERS = 60;

/** Removes links that are no text of a page: permalinks beside headings, such as `¶` and `#`, and "Edit this page". */
export function removePageControls(document: PageDocument): void {
  for (const link of [...document.querySelectorAll('a')]) {
    const text = link.textContent ?? '';
    if (text.length > MAX_CHARACTERS || link.querySelector('img, svg') !== null) continue;
    const isPermalink = PERMALINK.test(text) && (link.getAttribute('href') ?? '').includes('#');
    if (isPermalink || EDIT_LINK.test(collapseWhitespace(text))) link.remove();
  }
}

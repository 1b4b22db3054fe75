/** A text that questions are answered from: a document of the prompt, or a part of a message. */
export interface Passage {
  title?: string;
  text: string;
  /** Unix seconds at which the document was last changed; absent: unknown. */
  modifiedAt?: number;
  /** The text is the answer: it was computed over the rows of a table. */
  isComputed?: boolean;
  /** Score of the search, 0 to 1; absent: not searched. */
  score?: number;
}

/** A label of passages: `Context:`, `Here are the search results:`, `### Documents`. */
const PASSAGES_LABEL =
  /(?:^|\n)[ \t]*(?:#{1,6}\s*|\*\*)?(?:(?:the |here (?:is|are) (?:the |some )?)?(?:(?:following|given|provided|relevant|retrieved|reference|background|additional|supporting)\s+)*(?:context|documents?|passages?|sources?|text|article|background|information|knowledge(?: base)?|excerpts?|snippets?|(?:search )?results?|references?|paragraphs?|facts|notes|evidence)(?: information| passages| documents| chunks| snippets)?)\s*(?:\*\*)?\s*(?::(?:\*\*)?|\n)/i;
/** An instruction that introduces passages: `Use the following context to answer:`. */
const INTRODUCTION =
  /\b(?:context|documents?|passages?|sources?|text|article|information|excerpts?|snippets?|results?|paragraphs?|following|below|facts)\b[^\n]{0,160}?:[ \t]*(?:\n|(?=\S))/i;
/** The number of a passage in a list: `[1]`, `Document 2 (Title):`, `Source 3:`, `--- 4 ---`. */
const PASSAGE_NUMBER =
  /(?:^|\n)[ \t]*(?:#{1,6}[ \t]*|\*\*|-{3,}[ \t]*)?(?:\[(?:(?:document|doc|passage|source|chunk)\s*)?\d{1,3}\]|(?:document|doc|passage|source|chunk|excerpt|snippet|result|context|paragraph|article)\s*#?\d{1,3}\b)(?:\*\*)?[ \t]*(?:\(([^)\n]{1,120})\))?[ \t]*(?::|\.|-{3,})?(?:\*\*)?[ \t]*/gi;
const SEPARATOR = /\n[ \t]*(?:-{3,}|={3,}|\*{3,}|#{3,})[ \t]*(?=\n|$)/;

/** A label of a question: `Question:`, `### Query`. Global; matches anywhere. */
export const QUESTION_LABEL =
  /(?:^|\n)[ \t]*(?:#{1,6}\s*|\*\*)?(?:(?:the |user(?:'s)? |my )?(?:question|query|ask)|q)\s*(?:\*\*)?\s*(?::(?:\*\*)?|\n)[ \t]*/gi;

/** Openings of instructions. Facts seldom start with them. */
const INSTRUCTION_OPENING =
  /^\s*(?:[-*•]\s*|\d+[.)]\s*)?(?:you(?:'re| are| will| must| should| can)\b|your (?:task|job|role|goal|name)|i (?:want|need|would like) you|(?:please )?(?:use|answer|respond|reply|act|be|do not|don't|never|always|only|if (?:you|the|there|no|it)|when (?:you|answering|asked)|based on|given|read|provide|cite|keep|make sure|ensure|follow|summari[sz]e|translate|write|explain|refer|help|assume|imagine|consider|think|avoid|speak|talk|limit|stick|return|output|quote|ignore|note that you|tell|say|list|extract|find|using|from the|according to|with the|in the following|below (?:is|are)|here (?:is|are)|the (?:user|assistant|following)|these instructions|rules?:|instructions?:|guidelines?:)\b)/i;

/** Whether a paragraph is an instruction to the model. */
export function isInstruction(paragraph: string): boolean {
  return INSTRUCTION_OPENING.test(paragraph);
}

/** Whether a paragraph is only a label of the next one. */
export function isLabel(paragraph: string): boolean {
  return /^[^\n.!?]{0,80}:\s*$/.test(paragraph.trim());
}

/** Extracts numbered passages, or those behind a label or introduction; null when there are none. */
export function extractLabelled(text: string): { instructions: string; passages: Passage[] } | null {
  const numbered = [...text.matchAll(PASSAGE_NUMBER)];
  const label = PASSAGES_LABEL.exec(text) ?? findIntroduction(text);
  const first = numbered[0];
  if (first !== undefined && (numbered.length > 1 || label !== null)) {
    const passages = numbered.map((mark, i): Passage => {
      const body = text.slice(mark.index + mark[0].length, numbered[i + 1]?.index ?? text.length).trim();
      return {
        ...(mark[1] !== undefined && { title: mark[1] }),
        text: i === numbered.length - 1 ? trimInstructions(body) : body,
      };
    });
    return { instructions: text.slice(0, first.index), passages };
  }
  if (label === null) return null;
  const labelEnd = label.index + label[0].length;
  const labelled = text.slice(labelEnd).trim();
  const body = trimInstructions(labelled);
  if (body === '') return null;
  const passages = body.split(SEPARATOR).map((part) => ({ text: part.trim() }));
  return { instructions: `${text.slice(0, labelEnd)}\n${labelled.slice(body.length)}`, passages };
}

/** An introduction within an instruction or at the beginning of the text. */
function findIntroduction(text: string): RegExpExecArray | null {
  const match = INTRODUCTION.exec(text);
  if (match === null) return null;
  const line = text.slice(text.lastIndexOf('\n', match.index) + 1, match.index + match[0].length);
  return isInstruction(line) || text.slice(0, match.index).trim() === '' || isInstruction(text) ? match : null;
}

/** Removes instructions from the end of a text. */
function trimInstructions(text: string): string {
  const paragraphs = text.split(/(\n\s*\n)/);
  while (paragraphs.length > 1 && isInstruction(paragraphs.at(-1) ?? '')) paragraphs.splice(-2);
  return paragraphs.join('');
}

/** Tags and triple quotation marks around texts. */
const FENCE =
  /<(\/?)(context|documents?|docs?|passages?|sources?|articles?|texts?|excerpts?|results?|search_results?|knowledge|reference|data|content|document_content)\b([^<>]{0,400})>|"""|'''/gi;
const TITLE = /\b(?:title|name|source)\s*=\s*["']([^"']+)["']/i;
/** Maximum depth of nested tags. */
const MAX_DEPTH = 16;

interface OpenTag {
  name: string;
  attributes: string;
  /** Offset of the tag, and of the text behind it. */
  start: number;
  contentStart: number;
  hasInner: boolean;
}

/** Extracts passages between (innermost) tags or triple quotation marks, in one pass; null when there are none. */
export function extractTagged(text: string): { passages: Passage[]; outside: string } | null {
  const passages: Passage[] = [];
  const outside: string[] = [];
  const open: OpenTag[] = [];
  let outsideStart = 0;
  for (const match of text.matchAll(FENCE)) {
    const [whole, slash = '', tag, attributes = ''] = match;
    const name = (tag ?? whole).toLowerCase();
    const opening = open.findLastIndex((each) => each.name === name);
    const closes = tag === undefined ? opening >= 0 : slash !== '';
    if (!closes) {
      if (open.length >= MAX_DEPTH) open.shift();
      open.push({ name, attributes, start: match.index, contentStart: match.index + whole.length, hasInner: false });
      continue;
    }
    const tagged = open[opening];
    if (tagged === undefined) continue;
    open.length = opening;
    const inner = text.slice(tagged.contentStart, match.index).trim();
    const title = TITLE.exec(tagged.attributes)?.[1];
    if (!tagged.hasInner && inner !== '') passages.push({ ...(title !== undefined && { title }), text: inner });
    for (const outer of open) outer.hasInner = true;
    if (open.length > 0) continue;
    outside.push(text.slice(outsideStart, tagged.start));
    outsideStart = match.index + whole.length;
  }
  if (passages.length === 0) return null;
  outside.push(text.slice(outsideStart));
  return { passages, outside: outside.join('\n\n') };
}

import type { Passage } from './passage.ts';

/** A line that says that passages follow: `Context:`, `Here are the search results:`, `### Documents`. */
const LABEL_OF_PASSAGES =
  /(?:^|\n)[ \t]*(?:#{1,6}\s*|\*\*)?(?:(?:the |here (?:is|are) (?:the |some )?)?(?:(?:following|given|provided|relevant|retrieved|reference|background|additional|supporting)\s+)*(?:context|documents?|passages?|sources?|text|article|background|information|knowledge(?: base)?|excerpts?|snippets?|(?:search )?results?|references?|paragraphs?|facts|notes|evidence)(?: information| passages| documents| chunks| snippets)?)\s*(?:\*\*)?\s*(?::(?:\*\*)?|\n)/i;
/** An instruction whose end announces them: `Use the following context to answer:` with the passages below. */
const ANNOUNCED =
  /\b(?:context|documents?|passages?|sources?|text|article|information|excerpts?|snippets?|results?|paragraphs?|following|below|facts)\b[^\n]{0,160}?:[ \t]*(?:\n|(?=\S))/i;
/** What a passage of a list begins with: `[1]`, `Document 2 (Title):`, `Source 3:`, `--- 4 ---`. */
const NUMBERED =
  /(?:^|\n)[ \t]*(?:#{1,6}[ \t]*|\*\*|-{3,}[ \t]*)?(?:\[(?:(?:document|doc|passage|source|chunk)\s*)?\d{1,3}\]|(?:document|doc|passage|source|chunk|excerpt|snippet|result|context|paragraph|article)\s*#?\d{1,3}\b)(?:\*\*)?[ \t]*(?:\(([^)\n]{1,120})\))?[ \t]*(?::|\.|-{3,})?(?:\*\*)?[ \t]*/gi;
const SEPARATED = /\n[ \t]*(?:-{3,}|={3,}|\*{3,}|#{3,})[ \t]*(?=\n|$)/;

/** What stands before a question that is named as one. */
export const LABEL_OF_QUESTION =
  /(?:^|\n)[ \t]*(?:#{1,6}\s*|\*\*)?(?:(?:the |user(?:'s)? |my )?(?:question|query|ask)|q)\s*(?:\*\*)?\s*(?::(?:\*\*)?|\n)[ \t]*/gi;

/** What instructions begin with, or say; facts seldom do. */
const INSTRUCTION =
  /^\s*(?:[-*•]\s*|\d+[.)]\s*)?(?:you(?:'re| are| will| must| should| can)\b|your (?:task|job|role|goal|name)|i (?:want|need|would like) you|(?:please )?(?:use|answer|respond|reply|act|be|do not|don't|never|always|only|if (?:you|the|there|no|it)|when (?:you|answering|asked)|based on|given|read|provide|cite|keep|make sure|ensure|follow|summari[sz]e|translate|write|explain|refer|help|assume|imagine|consider|think|avoid|speak|talk|limit|stick|return|output|quote|ignore|note that you|tell|say|list|extract|find|using|from the|according to|with the|in the following|below (?:is|are)|here (?:is|are)|the (?:user|assistant|following)|these instructions|rules?:|instructions?:|guidelines?:)\b)/i;

/** Whether a paragraph tells the model what to do, and no facts. */
export function isInstruction(paragraph: string): boolean {
  return INSTRUCTION.test(paragraph);
}

/** Whether a paragraph only announces another one. */
export function isLabel(paragraph: string): boolean {
  return /^[^\n.!?]{0,80}:\s*$/.test(paragraph.trim());
}

/** The passages behind a label or an announcement, or that are numbered; null where the text has none of these signs. */
export function splitLabelled(text: string): { before: string; passages: Passage[] } | null {
  const numbered = [...text.matchAll(NUMBERED)];
  const label = LABEL_OF_PASSAGES.exec(text) ?? announcement(text);
  const first = numbered[0];
  if (first !== undefined && (numbered.length > 1 || label !== null)) {
    const passages = numbered.map((mark, i): Passage => {
      const body = text.slice(mark.index + mark[0].length, numbered[i + 1]?.index ?? text.length).trim();
      return {
        ...(mark[1] !== undefined && { title: mark[1] }),
        text: i === numbered.length - 1 ? beforeInstructions(body) : body,
      };
    });
    return { before: text.slice(0, first.index), passages };
  }
  if (label === null) return null;
  const body = beforeInstructions(text.slice(label.index + label[0].length).trim());
  const rest = text
    .slice(label.index + label[0].length)
    .trim()
    .slice(body.length);
  const parts = body.split(SEPARATED).map((part) => ({ text: part.trim() }));
  if (body === '') return null;
  return { before: `${text.slice(0, label.index + label[0].length)}\n${rest}`, passages: parts };
}

/** An instruction in a text's first paragraphs that ends with a colon and is followed by more. */
function announcement(text: string): RegExpExecArray | null {
  const found = ANNOUNCED.exec(text);
  if (found === null) return null;
  const line = text.slice(text.lastIndexOf('\n', found.index) + 1, found.index + found[0].length);
  return isInstruction(line) || text.slice(0, found.index).trim() === '' || isInstruction(text) ? found : null;
}

/** A text without the paragraphs at its end that are instructions again. */
function beforeInstructions(text: string): string {
  const paragraphs = text.split(/(\n\s*\n)/);
  while (paragraphs.length > 1 && isInstruction(paragraphs.at(-1) ?? '')) paragraphs.splice(-2);
  return paragraphs.join('');
}

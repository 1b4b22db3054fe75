import { fill } from '../ui/language.tsx';
import { Markdown } from '../ui/markdown/markdown.tsx';
import './answers.css';
import type { AnswerPart, Citation } from './answer-events.ts';
import { CitationLink, citationKey, numberCitations } from './citations.tsx';
import { useAnswerMessages } from './messages.ts';

interface AnswerTextProps {
  part: Extract<AnswerPart, { kind: 'text' }>;
  /** The citations whose passages are numbered, in this order. */
  citations: readonly Citation[];
}

/** The Markdown of an answer, with the number of the passage after each span that cites one. */
export function AnswerText({ part, citations }: AnswerTextProps) {
  const messages = useAnswerMessages();
  const marks = part.citations.map(({ start, end }, key) => ({ start, end, key })).sort((a, b) => a.start - b.start);
  const numbers = numberCitations(citations);
  const renderMark = (key: number) => {
    const citation = part.citations[key];
    const next = part.citations[key + 1];
    if (citation === undefined) return null;
    // Neighbouring spans of one passage have one number.
    const isLast = next === undefined || citationKey(next) !== citationKey(citation) || next.start > citation.end + 1;
    const label = fill(messages.openPassage, { title: citation.title });
    return isLast ? (
      <sup>
        <CitationLink citation={citation}>
          <span title={label} className="cite">
            {numbers.get(citationKey(citation))}
          </span>
        </CitationLink>
      </sup>
    ) : null;
  };
  return <Markdown text={part.text} marks={marks} renderMark={renderMark} />;
}

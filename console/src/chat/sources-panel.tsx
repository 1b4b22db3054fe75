import { UnstyledButton } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import type { Citation } from '../answers/answer-events.ts';
import { citationKey, numberCitations } from '../answers/citations.tsx';
import type { Passage } from '../passages/passage.ts';
import { PassageView, usePlaceText } from '../passages/passage-view.tsx';
import { Drawer } from '../ui/dialogs.tsx';
import { useChatMessages } from './messages.ts';

/** Screens with room for a column of sources, as in `chat.css`. */
const WIDE = '(min-width: 80em)';

interface SourcesProps {
  citations: readonly Citation[];
  /** The passage that is shown; null: the first one of the last answer, where there is room. */
  passage: Passage | null;
  onSelect(passage: Passage | null): void;
}

/** The cited passages with their numbers, one of them on its page: a column, or a drawer on narrow screens. */
export function Sources({ citations, passage, onSelect }: SourcesProps) {
  const messages = useChatMessages();
  const isWide = useMediaQuery(WIDE, true, { getInitialValueInEffect: false });
  if (isWide) {
    return (
      <aside className="chat-sources" aria-label={messages.sources}>
        <h2 className="chat-sources-title">{messages.sources}</h2>
        <SourceList citations={citations} passage={passage ?? citations.at(-1)?.passage ?? null} onSelect={onSelect} />
      </aside>
    );
  }
  return (
    <Drawer
      opened={passage !== null}
      onClose={() => onSelect(null)}
      position="right"
      size="min(26rem, 100vw)"
      title={messages.sources}
    >
      <SourceList citations={citations} passage={passage} onSelect={onSelect} />
    </Drawer>
  );
}

function SourceList({ citations, passage, onSelect }: SourcesProps) {
  const placeText = usePlaceText();
  const numbers = numberCitations(citations);
  const isCited = citations.some((citation) => citation.passage?.chunkId === passage?.chunkId);
  return (
    <ol className="chat-source-list">
      {[...numbers].map(([key, number]) => {
        const citation = citations.find((each) => citationKey(each) === key);
        if (citation?.passage == null) return null;
        const isShown = citation.passage.chunkId === passage?.chunkId;
        const place = placeText(citation.passage);
        return (
          <li key={key}>
            <UnstyledButton className="chat-source" aria-expanded={isShown} onClick={() => onSelect(citation.passage)}>
              <span className="cite">{number}</span>
              <span className="breakable">{[citation.title, place].filter((text) => text !== '').join(' · ')}</span>
            </UnstyledButton>
            {isShown && passage !== null && (
              <PassageView key={`${passage.chunkId} ${passage.start}`} passage={passage} />
            )}
          </li>
        );
      })}
      {!isCited && passage !== null && (
        <li>
          <PassageView key={`${passage.chunkId} ${passage.start}`} passage={passage} />
        </li>
      )}
    </ol>
  );
}

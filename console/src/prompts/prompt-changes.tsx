import { useMemo } from 'react';
import { fill } from '../ui/language.tsx';
import { Hint } from '../ui/text.tsx';
import { compareTexts } from './compare-texts.ts';
import { usePromptMessages } from './messages.ts';
import type { PromptVersion } from './prompt-queries.ts';

/** Shows the differences between two versions of a prompt. */
export function PromptChanges({ before, after }: { before: PromptVersion; after: PromptVersion }) {
  const messages = usePromptMessages();
  const parts = useMemo(() => compareTexts(before.text, after.text), [before.text, after.text]);
  return (
    <>
      <Hint>{fill(messages.changes, { before: before.version, after: after.version })}</Hint>
      <pre className="prompt-text">
        {parts.map(({ value, added, removed }, index) => {
          const Part = added ? 'ins' : removed ? 'del' : 'span';
          // biome-ignore lint/suspicious/noArrayIndexKey: the parts of two texts do not change
          return <Part key={index}>{value}</Part>;
        })}
      </pre>
    </>
  );
}

import { createSpotlight, Spotlight } from '@mantine/spotlight';
import '@mantine/spotlight/styles.css';
import { useEffect, useState } from 'react';
import { useMessages } from '../messages/index.tsx';
import { usePaletteGroups } from './palette-groups.ts';

const [store, palette] = createSpotlight();

/** The command palette, open while it is rendered. */
export function CommandPalette({ onClose, onHelp }: { onClose(): void; onHelp(): void }) {
  const { commands } = useMessages();
  const [text, setText] = useState('');
  const groups = usePaletteGroups(text, onHelp);
  useEffect(() => {
    palette.open();
    return palette.close;
  }, []);
  return (
    <Spotlight.Root
      store={store}
      shortcut={null}
      query={text}
      onQueryChange={setText}
      onSpotlightClose={onClose}
      scrollable
      maxHeight="60vh"
      aria-label={commands.open}
    >
      <Spotlight.Search placeholder={commands.placeholder} aria-label={commands.placeholder} />
      <Spotlight.ActionsList>
        {groups.map(({ heading, commands: items }) => (
          <Spotlight.ActionsGroup key={heading} label={heading}>
            {items.map(({ id, label, description, run }) => (
              <Spotlight.Action key={id} label={label} description={description ?? ''} onClick={run} />
            ))}
          </Spotlight.ActionsGroup>
        ))}
        {groups.length === 0 && <Spotlight.Empty>{commands.empty}</Spotlight.Empty>}
      </Spotlight.ActionsList>
    </Spotlight.Root>
  );
}

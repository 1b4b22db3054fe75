import { Kbd, Table, UnstyledButton } from '@mantine/core';
import { useHotkeys } from '@mantine/hooks';
import { Search } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Modal } from '../ui/dialogs.tsx';
import { Icon } from '../ui/icon.tsx';
import { isTyping } from '../ui/is-typing.ts';
import { lazyPart } from '../ui/lazy-part.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { useCommandMessages } from './messages.ts';

const loadPalette = () => import('./command-palette.tsx');
const CommandPalette = lazyPart(loadPalette, 'CommandPalette');

const MODIFIER = /Mac|iPhone|iPad/.test(globalThis.navigator.userAgent) ? '⌘' : 'Ctrl';

/** The button of the command palette in the sidebar, with the keyboard shortcuts of the console. */
export function Commands() {
  const commands = useCommandMessages();
  const common = useCommonMessages();
  const [shown, setShown] = useState<'palette' | 'help' | null>(null);
  useHotkeys([['mod+K', () => setShown('palette')]], []);
  useQuestionMark(() => setShown('help'));
  const close = () => setShown((current) => (current === 'palette' ? null : current));
  return (
    <>
      <UnstyledButton
        className="sidebar-search"
        title={commands.open}
        aria-keyshortcuts="Control+K Meta+K"
        onClick={() => setShown('palette')}
        onPointerEnter={() => void loadPalette()}
      >
        <Icon icon={Search} />
        <span className="sidebar-label">{common.search}</span>
        <Kbd size="xs" className="sidebar-label">
          {MODIFIER} K
        </Kbd>
      </UnstyledButton>
      {shown === 'palette' && <CommandPalette onClose={close} onHelp={() => setShown('help')} />}
      {shown === 'help' && <ShortcutHelp onClose={() => setShown(null)} />}
    </>
  );
}

/** Calls the function when `?` is typed outside of text fields. */
function useQuestionMark(onType: () => void): void {
  useEffect(() => {
    const handle = (event: KeyboardEvent) => {
      if (event.key === '?' && !isTyping(event)) onType();
    };
    document.addEventListener('keydown', handle);
    return () => document.removeEventListener('keydown', handle);
  }, [onType]);
}

function ShortcutHelp({ onClose }: { onClose(): void }) {
  const commands = useCommandMessages();
  const { shortcuts } = commands;
  const rows: [keys: string[], text: string][] = [
    [[MODIFIER, 'K'], shortcuts.palette],
    [['?'], shortcuts.help],
    [['Tab'], shortcuts.next],
    [['↑', '↓'], shortcuts.choose],
    [['/'], shortcuts.filter],
    [['j', 'k'], shortcuts.rows],
    [['Enter'], shortcuts.activate],
    [['Esc'], shortcuts.close],
  ];
  return (
    <Modal opened onClose={onClose} title={commands.help}>
      <Table aria-label={commands.help}>
        <Table.Tbody>
          {rows.map(([keys, text]) => (
            <Table.Tr key={text}>
              <Table.Td>
                {keys.map((key) => (
                  <Kbd key={key} mr={4}>
                    {key}
                  </Kbd>
                ))}
              </Table.Td>
              <Table.Td>{text}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  );
}

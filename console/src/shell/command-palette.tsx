import { Combobox, Modal, ScrollArea, Text, TextInput, useCombobox } from '@mantine/core';
import { type KeyboardEvent, useEffect, useId, useRef, useState } from 'react';
import { useCommandMessages } from './messages.ts';
import { type Command, type CommandGroup, usePaletteGroups } from './palette-groups.ts';

/** The command palette: a text field that filters commands, one of which Enter runs. */
export function CommandPalette({ onClose, onHelp }: { onClose(): void; onHelp(): void }) {
  const messages = useCommandMessages();
  const [text, setText] = useState('');
  const groups = usePaletteGroups(text, onHelp);
  const listId = useId();

  const commands = groups.flatMap((group) => group.commands);
  const optionId = (command: Command) => `${listId}-${commands.indexOf(command)}`;

  const run = (command: Command) => {
    onClose();
    command.run();
  };
  const { selected, selectFirst, handleKey } = useSelection(commands, run);

  return (
    <Modal.Root opened onClose={onClose} size={600} yOffset={80} scrollAreaComponent={ScrollArea.Autosize}>
      <Modal.Overlay />
      <Modal.Content aria-label={messages.open}>
        <TextInput
          data-autofocus
          size="lg"
          variant="unstyled"
          px="md"
          placeholder={messages.placeholder}
          aria-label={messages.placeholder}
          role="combobox"
          aria-autocomplete="list"
          aria-expanded={commands.length > 0}
          aria-controls={listId}
          aria-activedescendant={selected && optionId(selected)}
          value={text}
          onChange={(event) => {
            setText(event.currentTarget.value);
            selectFirst();
          }}
          onKeyDown={handleKey}
        />
        <CommandList id={listId} groups={groups} selected={selected} optionId={optionId} onRun={run} />
      </Modal.Content>
    </Modal.Root>
  );
}

/** The selected command, which the arrow keys change and Enter runs. */
function useSelection(commands: readonly Command[], run: (command: Command) => void) {
  const [chosenId, setChosenId] = useState<string | null>(null);
  // Results of a search arrive later, and the list under the selection changes.
  const selected = commands.find(({ id }) => id === chosenId) ?? commands[0];
  const selectFirst = () => setChosenId(null);
  /** Selects by the index modulo the number of commands. */
  const select = (index: number) => setChosenId(commands.at(index % commands.length)?.id ?? null);
  const handleKey = (event: KeyboardEvent) => {
    // Enter ends the composition of a character, for example in Japanese.
    if (event.nativeEvent.isComposing || selected === undefined) return;
    const index = commands.indexOf(selected);
    if (event.key === 'ArrowDown') select(index + 1);
    else if (event.key === 'ArrowUp') select(index - 1);
    else if (event.key === 'Enter') run(selected);
    else return;
    event.preventDefault();
  };
  return { selected, selectFirst, handleKey };
}

interface CommandListProps {
  id: string;
  groups: readonly CommandGroup[];
  selected: Command | undefined;
  /** The id of the element of a command. */
  optionId(command: Command): string;
  onRun(command: Command): void;
}

function CommandList({ id, groups, selected, optionId, onRun }: CommandListProps) {
  const messages = useCommandMessages();
  const combobox = useCombobox({ opened: true });
  return (
    <Combobox store={combobox}>
      <Combobox.Options id={id} aria-label={messages.open} p={4} mah="60vh" style={{ overflowY: 'auto' }}>
        {groups.map(({ heading, commands }) => (
          <Combobox.Group key={heading} label={heading}>
            {commands.map((command) => (
              <CommandOption
                key={command.id}
                id={optionId(command)}
                command={command}
                isSelected={command === selected}
                onRun={() => onRun(command)}
              />
            ))}
          </Combobox.Group>
        ))}
        {groups.every(({ commands }) => commands.length === 0) && <Combobox.Empty>{messages.empty}</Combobox.Empty>}
      </Combobox.Options>
    </Combobox>
  );
}

interface CommandOptionProps {
  id: string;
  command: Command;
  isSelected: boolean;
  onRun(): void;
}

function CommandOption({ id, command, isSelected, onRun }: CommandOptionProps) {
  const option = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (isSelected) option.current?.scrollIntoView({ block: 'nearest' });
  }, [isSelected]);
  return (
    <Combobox.Option
      id={id}
      ref={option}
      value={command.id}
      selected={isSelected}
      aria-selected={isSelected}
      onClick={onRun}
    >
      {command.label}
      {command.description !== undefined && (
        <Text span size="xs" ml="xs">
          {command.description}
        </Text>
      )}
    </Combobox.Option>
  );
}

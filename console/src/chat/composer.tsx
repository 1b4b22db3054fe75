import { ActionIcon, Textarea, Tooltip } from '@mantine/core';
import { ArrowUp, BookOpen, ChevronDown, Plus, Square, X } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { useKnowledgeBaseOptions } from '../api/use-knowledge-base-options.ts';
import { useModels } from '../api/use-models.ts';
import { Icon } from '../ui/icon.tsx';
import { fill } from '../ui/language.tsx';
import { ChipSelect } from './chip-select.tsx';
import { useChatMessages } from './messages.ts';

/** Model and knowledge bases of the next message. */
export interface ChatSettings {
  model: string;
  knowledgeBaseIds: readonly string[];
}

interface ComposerProps {
  settings: ChatSettings;
  onChange(change: Partial<ChatSettings>): void;
  isRunning: boolean;
  /** The chat is not read yet. */
  isLoading: boolean;
  /** Resolves with whether the message was accepted: its text stays otherwise. */
  onSend(text: string): Promise<boolean>;
  onStop(): void;
  /** Shown above the field, such as an error. */
  children?: ReactNode;
}

/** The field for the next message, with its model and knowledge bases. Enter sends, Shift+Enter starts a line. */
export function Composer({ settings, onChange, isRunning, isLoading, onSend, onStop, children }: ComposerProps) {
  const messages = useChatMessages();
  const [text, setText] = useState('');
  const isReady = !isRunning && !isLoading && text.trim() !== '';
  const send = async () => {
    if (!isReady) return;
    setText('');
    if (!(await onSend(text))) setText((typed) => (typed === '' ? text : typed));
  };
  return (
    <div className="chat-composer">
      {children}
      <div className="chat-field">
        <Textarea
          aria-label={messages.placeholder}
          placeholder={messages.placeholder}
          variant="unstyled"
          autosize
          autoFocus
          minRows={1}
          maxRows={10}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
            event.preventDefault();
            void send();
          }}
        />
        <div className="chat-chips">
          <KnowledgeBaseChips settings={settings} onChange={onChange} />
          <ModelChip model={settings.model} onChange={(model) => onChange({ model })} />
          {isRunning ? (
            <Tooltip label={messages.stop}>
              <ActionIcon variant="default" aria-label={messages.stop} onClick={onStop}>
                <Icon icon={Square} />
              </ActionIcon>
            </Tooltip>
          ) : (
            <Tooltip label={messages.send}>
              <ActionIcon
                variant="filled"
                color="accent"
                aria-label={messages.send}
                disabled={!isReady}
                onClick={() => void send()}
              >
                <Icon icon={ArrowUp} />
              </ActionIcon>
            </Tooltip>
          )}
        </div>
      </div>
    </div>
  );
}

function KnowledgeBaseChips({ settings, onChange }: Pick<ComposerProps, 'settings' | 'onChange'>) {
  const messages = useChatMessages();
  const { knowledgeBaseIds: selected } = settings;
  const { options, search, setSearch } = useKnowledgeBaseOptions(selected);
  const change = (knowledgeBaseIds: readonly string[]) => onChange({ knowledgeBaseIds });
  return (
    <>
      {selected.map((id) => {
        const name = options.find(({ value }) => value === id)?.label ?? id;
        return (
          <span key={id} className="chip">
            <Icon icon={BookOpen} />
            <b title={name}>{name}</b>
            <button
              type="button"
              aria-label={fill(messages.removeKnowledge, { name })}
              onClick={() => change(selected.filter((each) => each !== id))}
            >
              <Icon icon={X} />
            </button>
          </span>
        );
      })}
      <ChipSelect
        label={messages.addKnowledge}
        searchLabel={messages.searchKnowledge}
        empty={messages.noKnowledge}
        options={options.filter(({ value }) => !selected.includes(value))}
        search={search}
        onSearch={setSearch}
        onSelect={(id) => change([...selected, id])}
      >
        <Icon icon={Plus} />
        <span className="chip-word">{messages.addKnowledge}</span>
      </ChipSelect>
    </>
  );
}

function ModelChip({ model, onChange }: { model: string; onChange(model: string): void }) {
  const messages = useChatMessages();
  const models = useModels();
  const [search, setSearch] = useState('');
  const options = (models.data?.data ?? [])
    .filter(({ id, capabilities }) => capabilities.chat_completion && id.includes(search.trim()))
    .map(({ id }) => ({ value: id, label: id }));
  return (
    <span className="chat-model">
      <ChipSelect
        label={`${messages.model}: ${model}`}
        searchLabel={messages.searchModels}
        empty=""
        options={options}
        search={search}
        onSearch={setSearch}
        onSelect={onChange}
      >
        <b title={model}>{model}</b>
        <Icon icon={ChevronDown} />
      </ChipSelect>
    </span>
  );
}

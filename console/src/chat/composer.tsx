import { ActionIcon, Textarea } from '@mantine/core';
import { ArrowUp, BookOpen, ChevronDown, Plus, Square, X } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { useKnowledgeBaseOptions } from '../api/use-knowledge-base-options.ts';
import { useModels } from '../api/use-models.ts';
import { PromptMenu } from '../prompts/prompt-menu.tsx';
import { usePromptMenu } from '../prompts/use-prompt-menu.ts';
import { Icon } from '../ui/icon.tsx';
import { fill } from '../ui/language.tsx';
import { Tooltip } from '../ui/tooltip.tsx';
import { AttachButton, DraftFiles, useAttachmentProblem } from './attachments.tsx';
import { ChipSelect } from './chip-select.tsx';
import { useChatMessages } from './messages.ts';
import { PresetChip } from './preset-chip.tsx';
import { type AttachmentDraft, useDroppedFiles } from './use-attachments.ts';
import type { Preset, PresetChoice } from './use-presets.ts';

/** Model, knowledge bases and preset of the draft message. */
export interface ChatSettings {
  model: string;
  knowledgeBaseIds: readonly string[];
  /** Null for no preset; absent for the preset of the chat. */
  presetId?: string | null;
}

interface ComposerProps {
  settings: ChatSettings;
  onChange(change: Partial<ChatSettings>): void;
  files: AttachmentDraft;
  /** Preset of the draft message, or null. */
  preset: PresetChoice | null;
  presets: readonly Preset[];
  isRunning: boolean;
  /** The chat is not read yet. */
  isLoading: boolean;
  /** Resolves with whether the message was accepted: its text stays otherwise. */
  onSend(text: string): Promise<boolean>;
  onStop(): void;
  /** Shown above the field, such as an error. */
  children?: ReactNode;
}

/**
 * Message field with the selection of model, knowledge bases and preset. Enter sends, Shift+Enter inserts a line break,
 * and `/` in an empty message opens the prompt library.
 */
export function Composer(props: ComposerProps) {
  const { settings, onChange, preset, presets, files, isRunning, isLoading, onSend, onStop, children } = props;
  const messages = useChatMessages();
  const [text, setText] = useState('');
  const prompts = usePromptMenu(text, setText);
  useEffect(() => prompts.field.current?.focus(), [prompts.field]);
  const problem = useAttachmentProblem(files, settings.model);
  const isOver = useDroppedFiles(files.add);
  const isReady = !isRunning && !isLoading && text.trim() !== '' && problem === null;
  const send = async () => {
    if (!isReady) return;
    setText('');
    if (!(await onSend(text))) setText((typed) => (typed === '' ? text : typed));
  };
  return (
    <div className="chat-composer">
      {children}
      <div className="chat-field" data-over={isOver || undefined}>
        <DraftFiles draft={files} problem={problem} />
        <PromptMenu menu={prompts}>
          <Textarea
            aria-label={messages.placeholder}
            placeholder={messages.placeholder}
            variant="unstyled"
            autosize
            minRows={1}
            maxRows={10}
            ref={prompts.field}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            onPaste={(event) => {
              const pasted = [...event.clipboardData.files];
              if (pasted.length === 0) return;
              event.preventDefault();
              files.add(pasted);
            }}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing || prompts.takesEnter())
                return;
              event.preventDefault();
              void send();
            }}
          />
        </PromptMenu>
        <div className="chat-chips">
          <AttachButton onFiles={files.add} />
          <PresetChip presets={presets} chosen={preset} onChange={(next) => onChange(toChange(next))} />
          <KnowledgeBaseChips settings={settings} onChange={onChange} />
          <ModelChip model={settings.model} onChange={(model) => onChange({ model })} />
          {isRunning ? <StopButton onStop={onStop} /> : <SendButton isReady={isReady} onSend={() => void send()} />}
        </div>
      </div>
    </div>
  );
}

function StopButton({ onStop }: Pick<ComposerProps, 'onStop'>) {
  const messages = useChatMessages();
  return (
    <Tooltip label={messages.stop}>
      <ActionIcon variant="default" aria-label={messages.stop} onClick={onStop}>
        <Icon icon={Square} />
      </ActionIcon>
    </Tooltip>
  );
}

function SendButton({ isReady, onSend }: { isReady: boolean; onSend(): void }) {
  const messages = useChatMessages();
  return (
    <Tooltip label={messages.send}>
      <ActionIcon variant="filled" color="accent" aria-label={messages.send} disabled={!isReady} onClick={onSend}>
        <Icon icon={ArrowUp} />
      </ActionIcon>
    </Tooltip>
  );
}

/** Returns the settings after a preset is selected: its model and knowledge bases are the initial values. */
const toChange = (preset: Preset | null): Partial<ChatSettings> => ({
  presetId: preset?.id ?? null,
  ...(preset?.model != null && { model: preset.model }),
  ...(preset !== null && { knowledgeBaseIds: preset.knowledge_base_ids }),
});

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

import { useCombobox } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useEffect, useRef, useState } from 'react';
import { type Prompt, renderPrompt, useFoundPrompts } from './prompt-queries.ts';

/** Debounce of the search, in milliseconds. */
const PAUSE_MS = 150;
/** A message with a slash and one word, which is the search text. */
const SEARCH = /^\/(\S*)$/u;

/** State and handlers of the prompt menu. */
export type PromptMenuState = ReturnType<typeof usePromptMenu>;

/** Manages the prompt menu of a field with this text. `onInsert` replaces the text. */
export function usePromptMenu(text: string, onInsert: (text: string) => void) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [isDismissed, setDismissed] = useState(false);
  const [asked, setAsked] = useState<Prompt | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const typed = SEARCH.exec(text)?.[1];
  const [search] = useDebouncedValue(typed ?? '', PAUSE_MS);
  const query = useFoundPrompts(search, typed !== undefined);
  const isStale = search !== typed || query.isFetching;
  // Until the results arrive, the previous results are shown without the prompts that no longer match.
  const prompts = typed === undefined ? [] : (query.data?.data ?? []).filter((prompt) => hasText(prompt, typed));
  const shown = prompts.map(({ id }) => id).join();
  const isOpen = typed !== undefined && !isDismissed;
  const combobox = useCombobox({ opened: isOpen, onDropdownClose: () => setDismissed(true) });
  if (typed === undefined && isDismissed) setDismissed(false);
  const { selectFirstOption, resetSelectedOption } = combobox;
  useEffect(() => {
    if (!isOpen || shown === '') return resetSelectedOption();
    // The options are rendered in the next frame.
    const frame = requestAnimationFrame(() => void selectFirstOption());
    return () => cancelAnimationFrame(frame);
  }, [isOpen, shown, selectFirstOption, resetSelectedOption]);
  const insert = (rendered: string) => {
    setAsked(null);
    onInsert(rendered);
    requestAnimationFrame(() => field.current?.focus());
  };
  const choose = (id: string) => {
    const prompt = prompts.find((each) => each.id === id);
    if (prompt === undefined) return;
    setError(null);
    onInsert('');
    if (prompt.variables.length > 0) setAsked(prompt);
    else void renderPrompt(prompt, {}).then(insert, setError);
  };
  return {
    field,
    combobox,
    isOpen,
    prompts,
    isLoading: isStale,
    error: error ?? (isOpen ? query.error : null),
    /** Whether Enter selects an option or waits for the options. */
    takesEnter: () => isOpen && (isStale || combobox.getSelectedOptionIndex() !== -1),
    choose,
    asked,
    insert,
    cancel: () => {
      setAsked(null);
      requestAnimationFrame(() => field.current?.focus());
    },
  };
}

const hasText = ({ name, text }: Prompt, search: string): boolean =>
  `${name}\n${text}`.toLowerCase().includes(search.toLowerCase());

import { TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { NAME_SEARCH } from '../api/address-values.ts';
import { isTyping } from './is-typing.ts';
import { useCommonMessages } from './messages.ts';

/** Pause after the last key before a search is sent. */
const PAUSE_MS = 250;

interface SearchFieldProps {
  label: string;
  /** The text that the list shows; empty: all items. */
  value: string;
  onSearch(text: string): void;
  /** Default: "Search". */
  placeholder?: string;
}

/** A field that searches a list on the server while one types. */
export function SearchField({ label, value, onSearch, placeholder }: SearchFieldProps) {
  const common = useCommonMessages();
  const [text, setText] = useState(value);
  const search = useDebouncedCallback(onSearch, PAUSE_MS);
  const field = useSlash();
  useEffect(() => setText(value), [value]);
  return (
    <TextInput
      ref={field}
      type="search"
      aria-keyshortcuts="/"
      aria-label={label}
      placeholder={placeholder ?? common.search}
      {...NAME_SEARCH}
      w={{ base: '100%', xs: 220 }}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        search(event.currentTarget.value.trim());
      }}
    />
  );
}

/** Gives a field the focus when `/` is typed outside of fields. */
function useSlash() {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (event.key !== '/' || isTyping(event)) return;
      event.preventDefault();
      field.current?.focus();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);
  return field;
}

/** A field that searches a list for `?q=` of the address. */
export function AddressSearch({ label }: { label: string }) {
  const { q = '' } = useSearch({ strict: false });
  const navigate = useNavigate();
  const search = (text: string) =>
    void navigate({
      to: '.',
      search: (before: object) => ({ ...before, q: text || undefined }),
      replace: true,
    } as never);
  return <SearchField label={label} value={q} onSearch={search} />;
}

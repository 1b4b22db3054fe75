import { TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { NAME_SEARCH } from '../api/address-values.ts';
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
  useEffect(() => setText(value), [value]);
  return (
    <TextInput
      type="search"
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

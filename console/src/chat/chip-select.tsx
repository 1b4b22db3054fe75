import { Combobox, useCombobox } from '@mantine/core';
import type { ReactNode } from 'react';

interface ChipSelectProps {
  label: string;
  searchLabel: string;
  /** Shown when no option matches. */
  empty: string;
  options: readonly { value: string; label: string }[];
  search: string;
  onSearch(text: string): void;
  onSelect(value: string): void;
  children: ReactNode;
}

/** A chip that opens a list with a search, from which one option is chosen. */
export function ChipSelect({
  label,
  searchLabel,
  empty,
  options,
  search,
  onSearch,
  onSelect,
  children,
}: ChipSelectProps) {
  const combobox = useCombobox({
    onDropdownClose: () => {
      combobox.resetSelectedOption();
      combobox.focusTarget();
      onSearch('');
    },
    onDropdownOpen: () => combobox.focusSearchInput(),
  });
  return (
    <Combobox
      store={combobox}
      width={260}
      position="top-start"
      onOptionSubmit={(value) => {
        onSelect(value);
        combobox.closeDropdown();
      }}
    >
      <Combobox.Target withAriaAttributes={false}>
        <button
          type="button"
          className="chip"
          aria-label={label}
          aria-haspopup="listbox"
          aria-expanded={combobox.dropdownOpened}
          onClick={() => combobox.toggleDropdown()}
        >
          {children}
        </button>
      </Combobox.Target>
      <Combobox.Dropdown>
        <Combobox.Search
          aria-label={searchLabel}
          placeholder={searchLabel}
          value={search}
          onChange={(event) => onSearch(event.currentTarget.value)}
        />
        <Combobox.Options mah={240} style={{ overflowY: 'auto' }} aria-label={label}>
          {options.map((option) => (
            <Combobox.Option key={option.value} value={option.value} className="breakable">
              {option.label}
            </Combobox.Option>
          ))}
          {options.length === 0 && empty !== '' && <Combobox.Empty>{empty}</Combobox.Empty>}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  );
}

import { ChevronDown, SlidersHorizontal } from 'lucide-react';
import { useState } from 'react';
import { Icon } from '../ui/icon.tsx';
import { ChipSelect } from './chip-select.tsx';
import { useChatMessages } from './messages.ts';
import type { Preset, PresetChoice } from './use-presets.ts';

/** Value of the option "No preset". */
const NONE = '';

interface PresetChipProps {
  presets: readonly Preset[];
  /** Preset of the draft message, or null. */
  chosen: PresetChoice | null;
  onChange(preset: Preset | null): void;
}

/** Preset selection of the draft message. Renders nothing if the organization has no presets. */
export function PresetChip({ presets, chosen, onChange }: PresetChipProps) {
  const messages = useChatMessages();
  const [search, setSearch] = useState('');
  if (presets.length === 0 && chosen === null) return null;
  const name = chosen === null ? messages.preset : (chosen.name ?? messages.deletedPreset);
  const options = [
    { value: NONE, label: messages.noPreset },
    ...presets.map(({ id, name }) => ({ value: id, label: name })),
  ];
  return (
    <ChipSelect
      label={`${messages.preset}: ${chosen === null ? messages.noPreset : name}`}
      searchLabel={messages.searchPresets}
      empty={messages.noPresetFound}
      options={options.filter(({ label }) => label.toLowerCase().includes(search.trim().toLowerCase()))}
      search={search}
      onSearch={setSearch}
      onSelect={(id) => onChange(presets.find((preset) => preset.id === id) ?? null)}
    >
      <Icon icon={SlidersHorizontal} />
      {chosen === null ? <span className="chip-word">{name}</span> : <b title={name}>{name}</b>}
      <Icon icon={ChevronDown} />
    </ChipSelect>
  );
}

import { Stack, Text, UnstyledButton } from '@mantine/core';
import { useState } from 'react';
import { Icon } from '../ui/icon.tsx';
import { SearchField } from '../ui/search-field.tsx';
import { EmptyState } from '../ui/states.tsx';
import { Hint } from '../ui/text.tsx';
import { CONNECTORS, type SourceType } from './connectors.ts';
import { useDataSourceMessages } from './messages.ts';

/** Searchable cards of the connectors with their requirements. */
export function ConnectorGallery({ onChoose }: { onChoose(type: SourceType): void }) {
  const sources = useDataSourceMessages();
  const [search, setSearch] = useState('');
  const types = (Object.keys(CONNECTORS) as SourceType[]).filter((type) =>
    [type, sources.types[type], sources.about[type], sources.needs[type]]
      .join(' ')
      .toLowerCase()
      .includes(search.toLowerCase()),
  );
  return (
    <Stack gap="sm">
      <SearchField label={sources.searchKinds} value={search} onSearch={setSearch} />
      {types.length === 0 && <EmptyState text={sources.noKind} />}
      <div className="card-grid">
        {types.map((type) => (
          <UnstyledButton key={type} className="choice-card" onClick={() => onChoose(type)}>
            <Icon icon={CONNECTORS[type].icon} className="choice-icon" />
            <Text fw={600}>{sources.types[type]}</Text>
            <Text size="sm">{sources.about[type]}</Text>
            <Hint size="xs" className="choice-foot">
              {sources.needs[type]}
            </Hint>
          </UnstyledButton>
        ))}
      </div>
    </Stack>
  );
}

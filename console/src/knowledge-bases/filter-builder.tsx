import { ActionIcon, Button, Code, Group, Paper, Stack, Text } from '@mantine/core';
import { useRef } from 'react';
import { ChoiceField, TextField } from '../ui/fields.tsx';
import { Autocomplete } from '../ui/list-inputs.tsx';
import { ErrorText } from '../ui/text.tsx';
import {
  DOCUMENT_FIELDS,
  type FilterGroup,
  type FilterLine,
  findDuplicate,
  isDocumentField,
  OPERATORS,
  toFilters,
} from './filters.ts';
import { useRetrievalMessages } from './messages.ts';

interface FilterBuilderProps {
  groups: readonly FilterGroup[];
  onChange(groups: readonly FilterGroup[]): void;
  /** Metadata keys of the documents. */
  keys: readonly string[];
}

/** Builds `filters`: groups of conditions. All of a group must match, and one of the groups. */
export function FilterBuilder({ groups, onChange, keys }: FilterBuilderProps) {
  const retrieval = useRetrievalMessages();
  const nextId = useRef(0);
  const newLine = (): FilterLine => {
    nextId.current += 1;
    return { id: nextId.current, field: '', operator: '$eq', value: '' };
  };
  const setGroup = (index: number, group: FilterGroup) =>
    onChange(groups.map((each, i) => (i === index ? group : each)).filter((each) => each.length > 0));
  const duplicate = findDuplicate(groups);
  const filters = toFilters(groups);
  return (
    <Stack gap="sm">
      {groups.map((group, index) => (
        <Stack gap="xs" key={group[0]?.id}>
          {index > 0 && (
            <Text size="sm" fw={600} ta="center">
              {retrieval.or}
            </Text>
          )}
          <FilterGroupFields
            group={group}
            keys={keys}
            newLine={newLine}
            onChange={(changed) => setGroup(index, changed)}
          />
        </Stack>
      ))}
      <Button variant="default" size="compact-sm" w="fit-content" onClick={() => onChange([...groups, [newLine()]])}>
        {groups.length === 0 ? retrieval.addFilter : retrieval.addGroup}
      </Button>
      <ErrorText role="alert">{duplicate !== undefined && retrieval.duplicate}</ErrorText>
      {filters !== undefined && (
        <Code block tabIndex={0} aria-label={retrieval.filterJson}>
          {JSON.stringify(filters, null, 2)}
        </Code>
      )}
    </Stack>
  );
}

interface FilterGroupFieldsProps {
  group: FilterGroup;
  keys: readonly string[];
  newLine(): FilterLine;
  /** An empty group is removed. */
  onChange(group: FilterGroup): void;
}

/** The conditions of a group, and the button that adds one. */
function FilterGroupFields({ group, keys, newLine, onChange }: FilterGroupFieldsProps) {
  const retrieval = useRetrievalMessages();
  return (
    <Paper withBorder p="sm">
      <Stack gap="xs">
        {group.map((line) => (
          <FilterLineFields
            key={line.id}
            line={line}
            keys={keys}
            onChange={(changed) => onChange(group.map((each) => (each.id === line.id ? changed : each)))}
            onRemove={() => onChange(group.filter(({ id }) => id !== line.id))}
          />
        ))}
        <Button variant="subtle" size="compact-sm" w="fit-content" onClick={() => onChange([...group, newLine()])}>
          {retrieval.and}
        </Button>
      </Stack>
    </Paper>
  );
}

interface FilterLineFieldsProps {
  line: FilterLine;
  keys: readonly string[];
  onChange(line: FilterLine): void;
  onRemove(): void;
}

function FilterLineFields({ line, keys, onChange, onRemove }: FilterLineFieldsProps) {
  const retrieval = useRetrievalMessages();
  const isFixed = isDocumentField(line.field);
  return (
    <Group gap="xs" wrap="wrap" align="flex-end">
      <Autocomplete
        label={retrieval.field}
        size="xs"
        style={{ flex: '1 1 160px' }}
        value={line.field}
        onChange={(field) => onChange({ ...line, field })}
        data={[
          { group: retrieval.documentFields, items: [...DOCUMENT_FIELDS] },
          { group: retrieval.metadataFields, items: keys.filter((key) => !isDocumentField(key)) },
        ]}
      />
      <ChoiceField
        label={retrieval.operator}
        size="xs"
        w={170}
        disabled={isFixed}
        values={OPERATORS}
        labels={retrieval.operators}
        value={isFixed ? '$eq' : line.operator}
        onChange={(operator) => onChange({ ...line, operator })}
      />
      <TextField
        label={retrieval.value}
        size="xs"
        style={{ flex: '1 1 140px' }}
        placeholder={line.operator === '$in' && !isFixed ? retrieval.listHint : undefined}
        value={line.value}
        onChange={(value) => onChange({ ...line, value })}
      />
      <ActionIcon variant="subtle" color="red" size="input-xs" aria-label={retrieval.removeFilter} onClick={onRemove}>
        ×
      </ActionIcon>
    </Group>
  );
}

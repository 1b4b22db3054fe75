import { type AutocompleteProps, type MultiSelectProps, type TagsInputProps, TextInput } from '@mantine/core';
import { queryOptions } from '@tanstack/react-query';
import { type ComponentType, lazy, Suspense, useState } from 'react';
import { focusOnMount } from './focus-on-mount.ts';

type Inputs = typeof import('./mantine-lists.ts');

let loaded: Inputs | null = null;
/** The inputs of lists, loaded when one is first shown. Until then, an empty field with its label is in their place. */
async function load(): Promise<Inputs> {
  loaded = await import('./mantine-lists.ts');
  return loaded;
}

/** Loads them before a form is shown, whose check of required fields would miss the fields in their place. */
export const listInputs = queryOptions({
  queryKey: ['list-inputs'],
  queryFn: () => load().then(() => true),
  staleTime: Number.POSITIVE_INFINITY,
});

type SharedProps = Pick<TagsInputProps, 'label' | 'description' | 'style' | 'w' | 'miw' | 'size'>;

const LAZY = {
  MultiSelect: lazy(async () => ({ default: (await load()).MultiSelect })),
  TagsInput: lazy(async () => ({ default: (await load()).TagsInput })),
  Autocomplete: lazy(async () => ({ default: (await load()).Autocomplete })),
};

type OnDemandProps = SharedProps & Pick<TagsInputProps, 'placeholder' | 'value'>;

interface OnDemand {
  /** Whether the input loads when it is first used, unless it has values. */
  isOnDemand?: boolean;
}

/** Shows an input when it is loaded. */
function ListInput({ name, props }: { name: keyof typeof LAZY; props: SharedProps }) {
  // Chosen once: another component would lose the text. A lazy component shows its fallback first, even if loaded.
  const [Input] = useState(() => (loaded?.[name] ?? LAZY[name]) as ComponentType<SharedProps>);
  const { label, description, style, w, miw, size } = props;
  return (
    <Suspense fallback={<TextInput {...{ label, description, style, w, miw, size }} disabled />}>
      <Input {...props} />
    </Suspense>
  );
}

/** Shows the look of an empty input until it is used, and the input from then on. */
function UsedInput({ name, props }: { name: keyof typeof LAZY; props: OnDemandProps }) {
  const [isUsed, setUsed] = useState(false);
  if (isUsed) return <ListInput name={name} props={{ ...props, ref: focusOnMount } as SharedProps} />;
  if (props.value?.length !== 0) return <ListInput name={name} props={props} />;
  const { label, description, placeholder, w, miw } = props;
  return (
    <TextInput
      {...{ label, description, placeholder, w, miw }}
      role="combobox"
      aria-haspopup="listbox"
      aria-expanded={false}
      readOnly
      onPointerEnter={() => void load()}
      onFocus={() => void load().then(() => setUsed(true))}
    />
  );
}

/** A choice of several values. */
export const MultiSelect = ({ isOnDemand, ...props }: MultiSelectProps & OnDemand) =>
  isOnDemand ? <UsedInput name="MultiSelect" props={props} /> : <ListInput name="MultiSelect" props={props} />;
/** A list of texts. */
export const TagsInput = ({ isOnDemand, ...props }: TagsInputProps & OnDemand) =>
  isOnDemand ? <UsedInput name="TagsInput" props={props} /> : <ListInput name="TagsInput" props={props} />;
/** A text with suggestions. */
export const Autocomplete = (props: AutocompleteProps) => <ListInput name="Autocomplete" props={props} />;

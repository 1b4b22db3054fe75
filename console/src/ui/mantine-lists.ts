/** Mantine's inputs of lists, in a separate file that is loaded on demand. */
export { Autocomplete, MultiSelect, TagsInput } from '@mantine/core';

/** Mantine's tooltip, in a separate file that is loaded on demand. */
export { Tooltip } from '@mantine/core';

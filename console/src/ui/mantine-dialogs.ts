/** Mantine's dialogs, in a separate file that is loaded on demand. */
export { Drawer, Modal } from '@mantine/core';

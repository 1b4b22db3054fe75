import type { DrawerProps, ModalProps } from '@mantine/core';
import { type ComponentType, useState } from 'react';
import { lazyPart } from './lazy-part.tsx';

/** Loads a dialog when it first opens. It stays mounted, so that its closing is animated. */
function onceOpened<Props extends { opened: boolean }>(Dialog: ComponentType<Props>) {
  return function OpenedDialog(props: Props) {
    const [wasOpened, setOpened] = useState(props.opened);
    if (props.opened && !wasOpened) setOpened(true);
    return wasOpened || props.opened ? <Dialog {...props} /> : null;
  };
}

const load = () => import('./mantine-dialogs.ts');

/** Mantine's `Modal`, loaded on demand. */
export const Modal = onceOpened<ModalProps>(lazyPart(load, 'Modal'));
/** Mantine's `Drawer`, loaded on demand. */
export const Drawer = onceOpened<DrawerProps>(lazyPart(load, 'Drawer'));

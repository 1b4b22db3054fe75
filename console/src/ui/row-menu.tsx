import { ActionIcon, Menu } from '@mantine/core';
import { Ellipsis } from 'lucide-react';
import { createContext, type ReactNode } from 'react';
import { Icon } from './icon.tsx';
import { useCommonMessages } from './messages.ts';

/** Whether buttons are entries of a menu. */
export const InRowMenu = createContext(false);

/**
 * The actions of an item behind three dots; hidden when it has none. The entries stay mounted, because they hold the
 * state of the dialogs that they open.
 */
export function RowMenu({ children }: { children: ReactNode }) {
  const common = useCommonMessages();
  return (
    <Menu
      position="bottom-end"
      keepMounted
      keepMountedMode="display-none"
      withinPortal={false}
      floatingStrategy="fixed"
      returnFocus
    >
      <Menu.Target>
        <ActionIcon className="row-menu-button" size={24} aria-label={common.actions}>
          <Icon icon={Ellipsis} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown className="row-menu">
        <InRowMenu value={true}>{children}</InRowMenu>
      </Menu.Dropdown>
    </Menu>
  );
}

import { ActionIcon } from '@mantine/core';
import type { LucideIcon } from 'lucide-react';
import { Icon } from '../ui/icon.tsx';
import { Tooltip } from '../ui/tooltip.tsx';

interface LineButtonProps {
  label: string;
  icon: LucideIcon;
  /** The button is disabled if undefined. */
  onClick: (() => void) | undefined;
  /** Whether the button is shown only on hover or focus of the message. */
  isQuiet?: boolean;
  /** Whether the button is pressed. */
  isPressed?: boolean;
}

/** Button in the toolbar below a message or an answer. */
export function LineButton({ label, icon, onClick, isQuiet, isPressed }: LineButtonProps) {
  return (
    <Tooltip label={label}>
      <ActionIcon
        size={24}
        aria-label={label}
        aria-disabled={onClick === undefined}
        aria-pressed={isPressed}
        data-disabled={onClick === undefined || undefined}
        className={isQuiet ? 'chat-quiet' : undefined}
        onClick={onClick}
      >
        <Icon icon={icon} />
      </ActionIcon>
    </Tooltip>
  );
}

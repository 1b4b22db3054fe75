import { Anchor, Badge, type BadgeProps, Group, Text, type TextProps } from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import type { ReactNode } from 'react';

type HintProps = TextProps & { children: ReactNode; role?: string; id?: string };

/** A text that explains or adds to another one. */
export const Hint = (props: HintProps) => <Text size="sm" c="dimmed" {...props} />;

/** A text that says what went wrong; nothing without one. */
export const ErrorText = (props: Partial<HintProps>) =>
  props.children ? <Text size="sm" c="red" className="breakable" {...props} /> : null;

/** A short property of an item, as a chip. */
export const Tag = (props: BadgeProps & { children: ReactNode }) => (
  <Badge variant="default" tt="none" fw={400} miw="max-content" {...props} />
);

interface ItemNameProps {
  name: ReactNode;
  /** A smaller text below the name. */
  note?: ReactNode;
  /** Follows the name in its line. */
  children?: ReactNode;
}

/** The name of an item of a table, with a note below it. */
export function ItemName({ name, note, children }: ItemNameProps) {
  const text = (
    <Text component="div" fw={500} className="breakable">
      {name}
    </Text>
  );
  return (
    <div style={{ minWidth: 160 }}>
      {children ? (
        <Group gap="xs">
          {text}
          {children}
        </Group>
      ) : (
        text
      )}
      {note && <Hint className="breakable">{note}</Hint>}
    </div>
  );
}

/** A link to a page of the console. */
export const PageLink = createLink(Anchor<'a'>);

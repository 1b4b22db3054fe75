import { Combobox, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { lazyPart } from '../ui/lazy-part.tsx';
import { MutationError } from '../ui/states.tsx';
import { PageLink } from '../ui/text.tsx';
import { usePromptMessages } from './messages.ts';
import './prompts.css';
import type { PromptMenuState } from './use-prompt-menu.ts';

const VariablesDialog = lazyPart(() => import('./variables-dialog.tsx'), 'VariablesDialog');

/** Adds the prompt library to a text field: the list of prompts and the form of their variables. */
export function PromptMenu({ menu, children }: { menu: PromptMenuState; children: ReactNode }) {
  const messages = usePromptMessages();
  const { combobox, isOpen, prompts, asked, error, isLoading } = menu;
  return (
    <>
      <MutationError mutation={{ error }} />
      <Combobox store={combobox} position="top-start" onOptionSubmit={menu.choose} middlewares={{ flip: false }}>
        <Combobox.Target withKeyboardNavigation={isOpen} withAriaAttributes={isOpen}>
          {children}
        </Combobox.Target>
        <Combobox.Dropdown>
          <Combobox.Options mah={260} style={{ overflowY: 'auto' }} aria-label={messages.title}>
            {prompts.map((prompt) => (
              <Combobox.Option key={prompt.id} value={prompt.id}>
                <span className="prompt-option">
                  <b>{prompt.name}</b>
                  {prompt.shared && <span className="prompt-shared">{messages.shared}</span>}
                </span>
                <Text span className="prompt-line" truncate>
                  {prompt.text}
                </Text>
              </Combobox.Option>
            ))}
            {prompts.length === 0 && !isLoading && <Combobox.Empty>{messages.noMatch}</Combobox.Empty>}
          </Combobox.Options>
          <Combobox.Footer>
            <PageLink to="/prompts" size="sm">
              {messages.manage}
            </PageLink>
          </Combobox.Footer>
        </Combobox.Dropdown>
      </Combobox>
      {asked !== null && <VariablesDialog prompt={asked} onInsert={menu.insert} onClose={menu.cancel} />}
    </>
  );
}

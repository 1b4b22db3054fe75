import { Button, Card, SimpleGrid, Stack, Text, Title } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import { useSession } from '../api/session.ts';
import { CopyText } from '../ui/copy-text.tsx';
import { Page, Section } from '../ui/page.tsx';
import { useStartMessages } from './messages.ts';
import { StartModel } from './start-model.tsx';

/** Three steps to a first answer. */
export function StartPage() {
  const start = useStartMessages();
  const { scopes } = useSession();
  const steps = [
    { title: start.step1, text: start.step1Text, to: '/knowledge-bases', action: start.openKnowledgeBases },
    { title: start.step2, text: start.step2Text, to: '/playground', action: start.openPlayground },
    {
      title: start.step3,
      text: scopes.includes('keys') ? start.step3Text : start.step3AskText,
      to: '/keys',
      action: scopes.includes('keys') ? start.createKey : null,
    },
  ] as const;
  return (
    <Page title={start.title} intro={start.intro}>
      {scopes.includes('admin') && <StartModel />}
      <SimpleGrid cols={{ base: 1, md: 3 }}>
        {steps.map(({ title, text, to, action }, index) => (
          <Card withBorder key={to} padding="lg">
            <Stack h="100%" justify="space-between">
              <div>
                <Text c="dimmed" fw={700} size="sm">
                  {index + 1}
                </Text>
                <Title order={2} size="h4" mt={4}>
                  {title}
                </Title>
                <Text mt="xs">{text}</Text>
              </div>
              {action !== null && (
                <Button component={Link} to={to} variant={index === 0 ? 'filled' : 'default'}>
                  {action}
                </Button>
              )}
            </Stack>
          </Card>
        ))}
      </SimpleGrid>
      <Section title={start.code}>
        <CopyText value={clientCode(location.origin)} />
      </Section>
    </Page>
  );
}

const clientCode = (origin: string): string => `from openai import OpenAI

client = OpenAI(base_url="${origin}/v1", api_key="quire-sk-...")
answer = client.chat.completions.create(
    model="general-8b",
    messages=[{"role": "user", "content": "How do I back up?"}],
    extra_body={"knowledge_bases": ["kb_..."]},
)
print(answer.choices[0].message.content)`;

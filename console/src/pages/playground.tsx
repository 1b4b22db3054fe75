import { Button, Drawer, Group, MultiSelect, NumberInput, Paper, Select, Stack, Text, Textarea } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { api, body } from '../api/client.ts';
import { useMayWrite, useSession } from '../api/session.ts';
import { CopyText } from '../components/copy-text.tsx';
import { Page } from '../components/page.tsx';
import { EmptyState } from '../components/states.tsx';
import { useMessages } from '../messages/index.tsx';
import { ChatMessage } from './playground-message.tsx';
import { type ChatSettings, requestBody, useChat } from './use-chat.ts';

const route = getRouteApi('/shell/playground');
const DEFAULT_MODEL = 'general-8b';

/** A chat with parameters, knowledge bases and citations. */
export function PlaygroundPage() {
  const { playground, common } = useMessages();
  const { kb } = route.useSearch();
  const mayWrite = useMayWrite();
  const [settings, setSettings] = useState<ChatSettings>({
    model: DEFAULT_MODEL,
    system: '',
    knowledgeBases: kb === undefined ? [] : [kb],
    temperature: '',
    maxTokens: '',
  });
  const chat = useChat(settings);
  const [input, setInput] = useState('');
  const [isCodeOpen, code] = useDisclosure();
  const end = useRef<HTMLDivElement>(null);
  const last = chat.messages.at(-1);
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when the text grows.
  useEffect(() => {
    end.current?.scrollIntoView({ block: 'nearest' });
  }, [chat.messages.length, last?.text]);
  const send = () => {
    const text = input.trim();
    if (text === '' || chat.isRunning) return;
    setInput('');
    void chat.send(text);
  };
  return (
    <Page
      title={playground.title}
      action={
        <Group>
          <Button variant="default" onClick={code.open}>
            {playground.code}
          </Button>
          <Button variant="default" onClick={chat.clear} disabled={chat.messages.length === 0}>
            {playground.clear}
          </Button>
        </Group>
      }
    >
      <Parameters settings={settings} onChange={setSettings} />
      <Stack aria-live="polite" aria-busy={chat.isRunning}>
        {chat.messages.length === 0 && <EmptyState text={mayWrite ? playground.empty : common.readOnly} />}
        {chat.messages.map((message) => (
          <ChatMessage key={message.id} message={message} onRetry={message === last ? chat.retry : undefined} />
        ))}
      </Stack>
      <div ref={end} />
      <Paper withBorder p="sm" pos="sticky" bottom={0} style={{ zIndex: 1 }}>
        <Group align="flex-end" wrap="nowrap">
          <Textarea
            aria-label={playground.placeholder}
            placeholder={playground.placeholder}
            autosize
            minRows={1}
            maxRows={8}
            style={{ flex: 1 }}
            disabled={!mayWrite}
            value={input}
            onChange={(event) => setInput(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
              event.preventDefault();
              send();
            }}
          />
          {chat.isRunning ? (
            <Button color="red" onClick={chat.stop}>
              {playground.stop}
            </Button>
          ) : (
            <Button onClick={send} disabled={!mayWrite || input.trim() === ''}>
              {playground.send}
            </Button>
          )}
        </Group>
      </Paper>
      <Drawer opened={isCodeOpen} onClose={code.close} title={playground.code} position="right" size="lg">
        <Stack>
          {Object.entries(codeSamples(requestBody(settings, [...chat.messages], input || '...'))).map(
            ([name, sample]) => (
              <div key={name}>
                <Text fw={600} size="sm" mb={4}>
                  {name}
                </Text>
                <CopyText value={sample} />
              </div>
            ),
          )}
        </Stack>
      </Drawer>
    </Page>
  );
}

function Parameters({ settings, onChange }: { settings: ChatSettings; onChange(settings: ChatSettings): void }) {
  const { playground } = useMessages();
  const { organization } = useSession();
  const models = useQuery({
    queryKey: ['models'],
    queryFn: () => body(api.GET('/v1/models', { params: { query: { limit: 100 } } })),
  });
  const bases = useQuery({
    queryKey: ['knowledge-base-options', organization.id],
    queryFn: () => body(api.GET('/v1/knowledge-bases', { params: { query: { limit: 100 } } })),
  });
  const chatModels = models.data?.data.filter(({ capabilities }) => capabilities?.chat_completion) ?? [];
  return (
    <Paper withBorder p="md">
      <Group align="flex-start">
        <Select
          label={playground.model}
          allowDeselect={false}
          searchable
          data={chatModels.map(({ id }) => id)}
          value={settings.model}
          onChange={(model) => model !== null && onChange({ ...settings, model })}
        />
        <MultiSelect
          label={playground.knowledge}
          style={{ flex: 1, minWidth: 220 }}
          clearable
          searchable
          data={bases.data?.data.map(({ id, name }) => ({ value: id, label: name })) ?? []}
          value={settings.knowledgeBases}
          onChange={(knowledgeBases) => onChange({ ...settings, knowledgeBases })}
        />
        <NumberInput
          label={playground.temperature}
          placeholder="–"
          w={130}
          min={0}
          max={2}
          step={0.1}
          value={settings.temperature}
          onChange={(temperature) => onChange({ ...settings, temperature })}
        />
        <NumberInput
          label={playground.maxTokens}
          placeholder="–"
          w={150}
          min={1}
          allowDecimal={false}
          value={settings.maxTokens}
          onChange={(maxTokens) => onChange({ ...settings, maxTokens })}
        />
      </Group>
      <Textarea
        mt="sm"
        label={playground.system}
        autosize
        minRows={1}
        maxRows={6}
        value={settings.system}
        onChange={(event) => onChange({ ...settings, system: event.currentTarget.value })}
      />
    </Paper>
  );
}

/** The request as curl, JavaScript and Python. */
function codeSamples(request: object): Record<string, string> {
  const json = JSON.stringify(request, null, 2);
  const { knowledge_bases: bases, ...standard } = request as { knowledge_bases?: string[] };
  const extra = bases === undefined ? '' : `,\n    extra_body=${JSON.stringify({ knowledge_bases: bases })}`;
  const shellJson = json.replaceAll("'", `'\\''`);
  return {
    curl: `curl ${location.origin}/v1/chat/completions \\\n  -H "Authorization: Bearer $QUIRE_API_KEY" \\\n  -H 'Content-Type: application/json' \\\n  -d '${shellJson}'`,
    JavaScript: `import OpenAI from 'openai';\n\nconst client = new OpenAI({ baseURL: '${location.origin}/v1', apiKey: process.env.QUIRE_API_KEY });\nconst completion = await client.chat.completions.create(${json});\nconsole.log(completion.choices[0].message.content);`,
    Python: `import json, os\nfrom openai import OpenAI\n\nclient = OpenAI(base_url="${location.origin}/v1", api_key=os.environ["QUIRE_API_KEY"])\nrequest = json.loads(r'''${JSON.stringify(standard, null, 2)}''')\ncompletion = client.chat.completions.create(**request${extra})\nprint(completion.choices[0].message.content)`,
  };
}

import { Group, Text } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { AutocompleteField, NumberField, SelectField, TextAreaField, TextField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { useKnowledgeBaseMessages } from './messages.ts';

const STRATEGIES = ['recursive', 'fixed_size', 'semantic'] as const;

interface Chunking {
  type: (typeof STRATEGIES)[number];
  chunk_size: number | string;
  /** Empty: the default for the size. */
  chunk_overlap: number | string;
}

/** Creates a knowledge base and opens it. */
export function CreateKnowledgeBase({ onClose }: { onClose(): void }) {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  const queryClient = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [model, setModel] = useState('');
  const [chunking, setChunking] = useState<Chunking>({ type: 'recursive', chunk_size: 512, chunk_overlap: '' });
  const submit = async () => {
    const { chunk_overlap: overlap, chunk_size: size, type } = chunking;
    const strategy = {
      type,
      chunk_size: Number(size) || 512,
      ...(overlap !== '' && { chunk_overlap: Number(overlap) }),
    };
    const { id } = await body(
      api.POST('/v1/knowledge-bases', {
        body: { name, description, chunking_strategy: strategy, ...(model !== '' && { embedding_model: model }) },
      }),
    );
    await queryClient.invalidateQueries({ queryKey: ['knowledge-bases'] });
    await navigate({ to: '/knowledge-bases/$kbId', params: { kbId: id } });
  };
  return (
    <FormDialog title={kb.create} submitLabel={common.create} onClose={onClose} submit={submit} size="lg">
      <NameFields {...{ name, setName, description, setDescription }} />
      <EmbeddingModel model={model} onChange={setModel} />
      <ChunkingFields chunking={chunking} onChange={setChunking} />
    </FormDialog>
  );
}

interface EditProps {
  base: { id: string; name: string; description: string };
  onClose(): void;
}

/** Renames a knowledge base and changes its description. */
export function EditKnowledgeBase({ base, onClose }: EditProps) {
  const kb = useKnowledgeBaseMessages();
  const queryClient = useQueryClient();
  const [name, setName] = useState(base.name);
  const [description, setDescription] = useState(base.description);
  const submit = async () => {
    await api.PATCH('/v1/knowledge-bases/{kb_id}', {
      params: { path: { kb_id: base.id } },
      body: { name, description },
    });
    await Promise.all([
      queryClient.invalidateQueries({ queryKey: ['knowledge-bases'] }),
      queryClient.invalidateQueries({ queryKey: ['knowledge-base', base.id] }),
    ]);
  };
  return (
    <FormDialog title={kb.edit} onClose={onClose} submit={submit}>
      <NameFields {...{ name, setName, description, setDescription }} />
    </FormDialog>
  );
}

interface NameFieldsProps {
  name: string;
  setName(name: string): void;
  description: string;
  setDescription(description: string): void;
}

function NameFields({ name, setName, description, setDescription }: NameFieldsProps) {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  return (
    <>
      <TextField
        param="name"
        label={common.name}
        required
        data-autofocus
        maxLength={256}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <TextAreaField
        param="description"
        label={kb.description}
        autosize
        minRows={2}
        maxRows={8}
        maxLength={4096}
        value={description}
        onChange={(event) => setDescription(event.currentTarget.value)}
      />
    </>
  );
}

/** Models without any generating capability: embedding models are among them, and the API checks the choice. */
function EmbeddingModel({ model, onChange }: { model: string; onChange(model: string): void }) {
  const kb = useKnowledgeBaseMessages();
  const { data } = useQuery({ queryKey: ['models'], queryFn: () => body(api.GET('/v1/models')) });
  const ids = (data?.data ?? [])
    .filter(({ capabilities }) => !capabilities.chat_completion && !capabilities.completion)
    .map(({ id }) => id)
    .filter((id) => id.includes('embed'));
  return (
    <AutocompleteField
      param="embedding_model"
      label={kb.embeddingModel}
      description={kb.embeddingHint}
      placeholder={kb.default}
      data={ids}
      value={model}
      onChange={onChange}
    />
  );
}

function ChunkingFields({ chunking, onChange }: { chunking: Chunking; onChange(chunking: Chunking): void }) {
  const kb = useKnowledgeBaseMessages();
  return (
    <>
      <Group grow align="flex-end" preventGrowOverflow={false}>
        <SelectField
          param="chunking_strategy.type"
          label={kb.chunking}
          allowDeselect={false}
          data={STRATEGIES.map((value) => ({ value, label: kb.strategies[value] }))}
          value={chunking.type}
          onChange={(type) => type !== null && onChange({ ...chunking, type: type as Chunking['type'] })}
        />
        <NumberField
          param="chunking_strategy.chunk_size"
          label={kb.chunkSize}
          min={16}
          max={2048}
          allowDecimal={false}
          value={chunking.chunk_size}
          onChange={(size) => onChange({ ...chunking, chunk_size: size })}
        />
        <NumberField
          param="chunking_strategy.chunk_overlap"
          label={kb.chunkOverlap}
          placeholder={kb.default}
          min={0}
          max={2047}
          allowDecimal={false}
          value={chunking.chunk_overlap}
          onChange={(overlap) => onChange({ ...chunking, chunk_overlap: overlap })}
        />
      </Group>
      <Text size="sm" c="dimmed">
        {kb.fixedHint}
      </Text>
    </>
  );
}

import { Group } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { api, body } from '../api/client.ts';
import { useModels } from '../api/use-models.ts';
import {
  CHUNK_OVERLAP,
  CHUNK_SIZE,
  CHUNKING_STRATEGIES,
  KNOWLEDGE_BASE_DESCRIPTION,
  KNOWLEDGE_BASE_NAME,
} from '../api/values.ts';
import { AutocompleteField, ChoiceField, NameField, NumberField, TextAreaField } from '../ui/fields.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useCommonMessages } from '../ui/messages.ts';
import { Hint } from '../ui/text.tsx';
import { useKnowledgeBaseMessages } from './messages.ts';

interface Chunking {
  type: (typeof CHUNKING_STRATEGIES)[number];
  /** In tokens; empty: the default of the service. */
  size: number | string;
  overlap: number | string;
}

/** Creates a knowledge base and opens it. */
export function CreateKnowledgeBase({ onClose }: { onClose(): void }) {
  const kb = useKnowledgeBaseMessages();
  const common = useCommonMessages();
  const navigate = useNavigate();
  const [texts, setTexts] = useState<Texts>({ name: '', description: '' });
  const [model, setModel] = useState('');
  const [chunking, setChunking] = useState<Chunking>({ type: 'recursive', size: '', overlap: '' });
  const submit = async () => {
    const { overlap, size, type } = chunking;
    const strategy = {
      type,
      ...(size !== '' && { chunk_size: Number(size) }),
      ...(overlap !== '' && { chunk_overlap: Number(overlap) }),
    };
    const request = { ...texts, chunking_strategy: strategy, ...(model !== '' && { embedding_model: model }) };
    const { id } = await body(api.POST('/v1/knowledge-bases', { body: request }));
    await navigate({ to: '/knowledge-bases/$kbId', params: { kbId: id } });
  };
  const dialog = { title: kb.create, submitLabel: common.create, onClose, submit, refreshes: ['knowledge-bases'] };
  return (
    <FormDialog {...dialog} size="lg">
      <TextFields texts={texts} onChange={setTexts} />
      <EmbeddingModel model={model} onChange={setModel} />
      <ChunkingFields chunking={chunking} onChange={setChunking} />
    </FormDialog>
  );
}

interface EditProps {
  base: Texts & { id: string };
  onClose(): void;
}

/** Renames a knowledge base and changes its description. */
export function EditKnowledgeBase({ base: { id, name, description }, onClose }: EditProps) {
  const kb = useKnowledgeBaseMessages();
  const [texts, setTexts] = useState<Texts>({ name, description });
  const submit = () => api.PATCH('/v1/knowledge-bases/{kb_id}', { params: { path: { kb_id: id } }, body: texts });
  const refreshes = ['knowledge-bases', 'knowledge-base'];
  return (
    <FormDialog title={kb.edit} onClose={onClose} submit={submit} refreshes={refreshes}>
      <TextFields texts={texts} onChange={setTexts} />
    </FormDialog>
  );
}

interface Texts {
  name: string;
  description: string;
}

function TextFields({ texts, onChange }: { texts: Texts; onChange(texts: Texts): void }) {
  const kb = useKnowledgeBaseMessages();
  return (
    <>
      <NameField {...KNOWLEDGE_BASE_NAME} value={texts.name} onChange={(name) => onChange({ ...texts, name })} />
      <TextAreaField
        param="description"
        label={kb.description}
        autosize
        minRows={2}
        maxRows={8}
        {...KNOWLEDGE_BASE_DESCRIPTION}
        value={texts.description}
        onChange={(description) => onChange({ ...texts, description })}
      />
    </>
  );
}

/** Models without any generating capability: embedding models are among them, and the API checks the choice. */
function EmbeddingModel({ model, onChange }: { model: string; onChange(model: string): void }) {
  const kb = useKnowledgeBaseMessages();
  const ids = (useModels().data?.data ?? [])
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
  const set = (changes: Partial<Chunking>) => onChange({ ...chunking, ...changes });
  const number = { placeholder: kb.default, allowDecimal: false };
  return (
    <>
      <Group grow align="flex-end" preventGrowOverflow={false}>
        <ChoiceField
          param="chunking_strategy.type"
          label={kb.chunking}
          values={CHUNKING_STRATEGIES}
          labels={kb.strategies}
          value={chunking.type}
          onChange={(type) => set({ type })}
        />
        <NumberField
          param="chunking_strategy.chunk_size"
          label={kb.chunkSize}
          {...number}
          {...CHUNK_SIZE}
          value={chunking.size}
          onChange={(size) => set({ size })}
        />
        <NumberField
          param="chunking_strategy.chunk_overlap"
          label={kb.chunkOverlap}
          {...number}
          {...CHUNK_OVERLAP}
          value={chunking.overlap}
          onChange={(overlap) => set({ overlap })}
        />
      </Group>
      <Hint>{kb.fixedHint}</Hint>
    </>
  );
}

import { KEY_VARIABLE, toCurl } from '../ui/curl.ts';
import type { PlaygroundRequest } from './turns.ts';

export const LANGUAGES = ['curl', 'JavaScript', 'Python'] as const;
/** A language that samples are written in. */
export type SampleLanguage = (typeof LANGUAGES)[number];

interface SampleService {
  origin: string;
  /** By default, the samples read the key from the environment. */
  key?: string | undefined;
}

/** The request as code that runs as it is. */
export function writeSample(language: SampleLanguage, request: PlaygroundRequest, service: SampleService): string {
  const { key } = service;
  if (language === 'curl')
    return toCurl(request.path, request.body, { option: '--no-buffer ', ...(key !== undefined && { key }) });
  return language === 'JavaScript' ? writeJavaScript(request, service) : writePython(request, service);
}

function writeJavaScript({ path, body }: PlaygroundRequest, { origin, key }: SampleService): string {
  const isChat = path === '/v1/chat/completions';
  const json = JSON.stringify(body, null, 2);
  return [
    `import OpenAI from 'openai';`,
    '',
    `const client = new OpenAI({ baseURL: '${origin}/v1', apiKey: ${key === undefined ? `process.env.${KEY_VARIABLE}` : `'${key}'`} });`,
    `const stream = await client.${isChat ? 'chat.completions' : 'responses'}.create(${json});`,
    'for await (const event of stream) {',
    isChat
      ? `  process.stdout.write(event.choices[0]?.delta?.content ?? '');`
      : `  if (event.type === 'response.output_text.delta') process.stdout.write(event.delta);`,
    '}',
  ].join('\n');
}

function writePython({ path, body }: PlaygroundRequest, { origin, key }: SampleService): string {
  const isChat = path === '/v1/chat/completions';
  const { knowledge_bases: bases, ...standard } = body;
  const fields = Object.entries(standard).map(([name, value]) => `    ${name}=${toPython(value, 1)},`);
  // The client rejects fields that it does not know, unless they are in extra_body.
  if (bases !== undefined) fields.push(`    extra_body=${toPython({ knowledge_bases: bases }, 1)},`);
  return [
    ...(key === undefined ? ['import os'] : []),
    'from openai import OpenAI',
    '',
    `client = OpenAI(base_url="${origin}/v1", api_key=${key === undefined ? `os.environ["${KEY_VARIABLE}"]` : `"${key}"`})`,
    `stream = client.${isChat ? 'chat.completions' : 'responses'}.create(`,
    ...fields,
    ')',
    'for event in stream:',
    ...(isChat
      ? ['    if event.choices:', '        print(event.choices[0].delta.content or "", end="", flush=True)']
      : ['    if event.type == "response.output_text.delta":', '        print(event.delta, end="", flush=True)']),
  ].join('\n');
}

/** A JSON value as a Python literal. JSON strings are Python strings. */
function toPython(value: unknown, depth: number): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value !== 'object') return JSON.stringify(value);
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((each) => toPython(each, depth + 1))
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${toPython(each, depth + 1)}`);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (items.length === 0) return open + close;
  const indent = '    '.repeat(depth);
  return `${open}\n${items.map((item) => `${indent}    ${item},\n`).join('')}${indent}${close}`;
}

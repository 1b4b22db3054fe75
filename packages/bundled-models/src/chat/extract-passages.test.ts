import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Message, SourceDocument } from './conversation.ts';
import { extractQuestionContext } from './extract-passages.ts';

const read = (messages: readonly Message[], documents?: readonly SourceDocument[]) =>
  extractQuestionContext({
    messages,
    tools: [],
    toolChoice: 'none',
    parallelToolCalls: true,
    ...(documents && { documents }),
  });
const user = (content: string): Message => ({ role: 'user', content });
const system = (content: string): Message => ({ role: 'system', content });
const TOWER = 'The tower stands in Paris. It was built in 1889 for a fair, and is 330 metres tall.';
const CATS = 'Cats are small animals that people keep.';

/** Chats in the shapes that people use, all with the same passages and question. */
const SHAPES: Readonly<Record<string, readonly Message[]>> = {
  'a system prompt with a label': [
    system(
      `Use the following context to answer the question. Do not make anything up.\n\nContext:\n${TOWER}\n\n---\n${CATS}`,
    ),
    user('How tall is it?'),
  ],
  'labels in the user message': [user(`Context: ${TOWER}\n\n${CATS}\n\nQuestion: How tall is it?\nAnswer:`)],
  'pieces of context before the question': [
    user(
      `Use the following pieces of context to answer the question at the end. If you don't know, just say that you don't know.\n\n${TOWER}\n\n${CATS}\n\nQuestion: How tall is it?\nHelpful Answer:`,
    ),
  ],
  'numbered sources': [
    system(
      `You are a helpful assistant. Answer only from these sources:\n[1] ${TOWER}\n[2] ${CATS}\n\nCite the sources.`,
    ),
    user('How tall is it?'),
  ],
  'tags within tags': [
    user(
      `<documents>\n<document title="a">${TOWER}</document>\n<document>${CATS}</document>\n</documents>\n\nHow tall is it?`,
    ),
  ],
  'named documents': [user(`Document 1 (Towers): ${TOWER}\nDocument 2 (Cats): ${CATS}\n\nHow tall is it?`)],
  'a pasted text before the question': [user(`${TOWER}\n\n${CATS}\n\nHow tall is it?`)],
  'a pasted text behind the question': [user(`How tall is it?\n\n${TOWER}\n\n${CATS}`)],
  'one line': [user(`${TOWER} ${CATS} How tall is it?`)],
  'long quotation marks': [user(`Answer from this text: """${TOWER}\n\n${CATS}"""\nHow tall is it?`)],
  'markdown headings': [
    system(`# Role\nYou answer questions.\n\n# Context\n${TOWER}\n\n${CATS}`),
    user('How tall is it?'),
  ],
  'facts below an instruction': [system(`Answer from the documents.\n\n${TOWER}\n${CATS}`), user('How tall is it?')],
};

/** Messages that are no plain questions. All are searched for in a knowledge base. */
const SEARCHED = [
  'I lost my laptop',
  'I lost my laptop.',
  'I lost my laptop. What now?',
  'backup',
  'Backup!',
  'VPN',
  'Can you give me a list of the public holidays?',
  'Give me a list of all error codes',
  'Make me an overview of the travel rules',
  'Give me a summary of the leave policy.',
  'Summarize the leave policy',
  'Is there a summary of the changes?',
  'How do I translate a ticket into German?',
  'Translate the welcome page to French.',
  'Compare the two plans',
  'Create a user',
  'Write a backup to another disk',
  'Convert a trial to a paid plan',
  'Generate a report',
  'Draft contract, which clauses?',
  'My badge does not work',
  'my badge does not work!',
  'No invoice arrived this month',
  'The printer on floor 2 is broken. Please help.',
  'Hi, I need a new chair',
  'Hello! The printer is broken',
  'Thanks. And the deadline for expenses?',
  'I want to cancel',
  'yes, the refund',
  'ok',
  'Who are you?',
  'What can you do?',
  'May I bring my dog?',
  'Are you open on Sundays',
  'Error 0x80070005',
  '如何备份？',
  '備份',
  'كيف أحفظ نسخة احتياطية؟',
  'Πώς κάνω αντίγραφο ασφαλείας;',
  'จะสำรองข้อมูลได้อย่างไร',
  'Làm thế nào để sao lưu',
];
/** The only messages that are answered without a search. */
const NOT_SEARCHED = [
  'Hello!',
  'Hi there',
  'hey, how are you?',
  'Good morning, team.',
  'Thanks!',
  'Thanks a lot, bye.',
  'OK great, thank you so much for your help!',
  'Guten Tag',
  'Merci beaucoup !',
  'Привет!',
  '你好！',
  'ありがとうございます',
  'สวัสดีค่ะ',
  'Cảm ơn bạn',
];

describe('extractQuestionContext', () => {
  it('takes every message for a question about documents of a knowledge base, except greetings and thanks', () => {
    const documents = [{ title: 'Towers', text: TOWER }];
    for (const text of SEARCHED) assert.equal(read([user(text)], documents)?.question, text);
    for (const text of NOT_SEARCHED) assert.equal(read([user(text)], documents), null, text);
  });
  it('recognizes the question marks of other scripts in a pasted text', () => {
    for (const question of ['这座塔有多高？', 'ما ارتفاع البرج؟', 'Πόσο ψηλός είναι ο πύργος;']) {
      assert.equal(read([user(`${TOWER}\n\n${CATS}\n\n${question}`)])?.question, question);
    }
    assert.equal(read([user(`${TOWER}\n\nstop();`)]), null);
  });

  for (const [name, messages] of Object.entries(SHAPES)) {
    it(`extracts passages and question from ${name}`, () => {
      const found = read(messages);
      assert.equal(found?.question, 'How tall is it?');
      const text = found.passages.map((passage) => passage.text).join('\n');
      assert.ok(text.includes(TOWER) && text.includes(CATS), text);
      assert.doesNotMatch(text, /You are|Use the following|How tall|Answer only/);
    });
  }
  it('puts documents of the prompt first and keeps their titles', () => {
    const found = read([user('How tall is it?')], [{ title: 'Towers', text: TOWER }]);
    assert.deepEqual([found?.passages, found?.isCertain], [[{ title: 'Towers', text: TOWER }], true]);
  });
  it('returns null for personas, small talk, writing requests and questions about the model', () => {
    const persona = 'You are Ann, a pirate. Your ship is the Black Pearl. Always answer like a pirate, and never stop.';
    assert.equal(read([system(persona), user('Where is Paris?')]), null);
    assert.equal(read([user('What is the capital of France?')]), null);
    for (const text of [
      'Hello!',
      'Thanks.',
      'Who are you?',
      'How are you?',
      'Summarise the text.',
      'Translate it to French.',
    ]) {
      assert.equal(read([system(`Context:\n${TOWER}`), user(text)]), null, text);
    }
  });
  it('returns the previous question of a follow-up question', () => {
    const earlier = [
      system(`Context:\n${TOWER}`),
      user('Who built the tower?'),
      { role: 'assistant' as const, content: 'A firm.' },
    ];
    assert.equal(read([...earlier, user('When did they build it?')])?.previousQuestion, 'Who built the tower?');
    assert.equal(read([...earlier, user('Where do cats live in the wild?')])?.previousQuestion, '');
  });
  it('returns the fallback reply of the instructions', () => {
    const asked = system(
      `Answer from the context. If it is not there, reply with "I don't know."\n\nContext:\n${TOWER}`,
    );
    assert.equal(read([asked, user('How tall is it?')])?.fallback, "I don't know.");
  });
  it('is not certain about a short remark before a question', () => {
    assert.equal(read([user('I went to Rome last week. What is the weather there?')])?.isCertain, false);
  });
  it('handles a million characters of unclosed markup', () => {
    for (const part of ['<document>', '"""', '\n \n', '[1] ', 'Context: ', 'following ', '? ', 'α', '\nQuestion: ']) {
      const found = read([user(`${part.repeat(Math.ceil(1e6 / part.length))}\n\nHow tall is it?`)]);
      assert.ok(found === null || found.question.length > 0);
    }
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ChatMessage } from '../../engines/engine.ts';
import { retrievalQuery } from './retrieval-query.ts';

/** Alternating messages of user and assistant. */
const said = (...texts: string[]): ChatMessage[] =>
  texts.map((content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content }));

/** A question, a long answer, and a follow-up question. */
const LEANING: Record<string, [string, string]> = {
  English: ['Who built the tower of Ashford?', 'How tall is it today?'],
  German: ['Wer hat den Turm von Ahrensburg gebaut?', 'Wie hoch ist er heute eigentlich?'],
  French: ["Qui a construit la tour d'Avignon ?", 'Quelle est sa hauteur actuelle exacte ?'],
  Spanish: ['¿Quién construyó la torre de Almería?', '¿Cuál es su altura exacta actual?'],
  Italian: ['Chi ha costruito la torre di Arezzo?', 'Qual è la sua altezza attuale esatta?'],
  Dutch: ['Wie heeft de toren van Arnhem gebouwd?', 'Hoeveel meter hoog is deze vandaag precies?'],
  Russian: ['Кто построил башню в Архангельске?', 'Сколько метров она имеет сегодня?'],
  Turkish: ['Ankara kulesini kim ve ne zaman inşa etti?', 'Onun bugünkü yüksekliği kaç metre?'],
  Greek: ['Ποιος έχτισε τον πύργο της Αθήνας;', 'Πόσα μέτρα ύψος έχει αυτός σήμερα;'],
  Hindi: ['आगरा की मीनार किसने बनाई?', 'आज उसकी ऊँचाई कितने मीटर है?'],
  Chinese: ['谁建造了杭州的古塔？', '它现在的高度是多少米？'],
  Japanese: ['青森の塔を建てたのは誰ですか？', 'その高さは現在何メートルですか？'],
  Korean: ['아산의 탑은 누가 지었습니까?', '그것의 높이는 지금 몇 미터입니까?'],
};

describe('retrievalQuery', () => {
  it('is the question itself in a first turn', () => {
    assert.equal(retrievalQuery(said('And there?')), 'And there?');
    assert.equal(retrievalQuery([{ role: 'system', content: 'Be brief.' }, ...said(' Why? ')]), 'Why?');
  });
  it('is null without a user message', () => {
    assert.equal(retrievalQuery([]), null);
    assert.equal(retrievalQuery([{ role: 'system', content: 'Be brief.' }]), null);
    assert.equal(retrievalQuery(said('  ')), null);
  });
  for (const [language, [first, second]] of Object.entries(LEANING)) {
    it(`includes the previous question for a follow-up in ${language}`, () => {
      const query = retrievalQuery(said('Earlier topic?', 'x'.repeat(70), first, 'y'.repeat(70), second));
      assert.equal(query, `${first}\n${second}\n${second}`);
    });
  }
  for (const question of [
    'Which port has the largest container terminal in Europe?',
    'Welcher Hafen hat das größte Terminal Europas?',
    'Какой порт имеет крупнейший терминал Европы?',
    '欧洲最大的集装箱码头在哪个港口？',
  ]) {
    it(`does not include the previous question for: ${question}`, () => {
      assert.equal(retrievalQuery(said('Who built the tower of Ashford?', 'Nobody knows.', question)), question);
    });
  }
  it('includes the previous question for a question of few words', () => {
    const query = retrievalQuery(said('Who built the tower of Ashford?', 'x'.repeat(70), 'And in Skelby?'));
    assert.equal(query, 'Who built the tower of Ashford?\nAnd in Skelby?\nAnd in Skelby?');
  });
  it('includes the previous question for a short question in a script without spaces', () => {
    const query = retrievalQuery(said('谁建造了杭州的古塔？', 'x'.repeat(70), '多少钱？'));
    assert.equal(query, '谁建造了杭州的古塔？\n多少钱？\n多少钱？');
  });
  it('skips messages without text', () => {
    assert.equal(retrievalQuery(said('Where is the port of Ashford?', 'Here.', '  ')), 'Where is the port of Ashford?');
  });
  it('includes a short answer', () => {
    const query = retrievalQuery(said('Who built the tower?', 'Ada Morrow.', 'Where was she born?'));
    assert.equal(query, 'Who built the tower?\nAda Morrow.\nWhere was she born?\nWhere was she born?');
  });
  it('skips tool results', () => {
    const messages: ChatMessage[] = [
      ...said('Where is the port of Ashford?'),
      { role: 'tool', content: 'x', tool_call_id: 'c' },
    ];
    assert.equal(retrievalQuery(messages), 'Where is the port of Ashford?');
  });
  it('has a maximum length', () => {
    const query = retrievalQuery(said('a'.repeat(50_000), 'b', `${'c '.repeat(50_000)} it`));
    assert.ok((query?.length ?? 0) <= 10_000);
  });
});

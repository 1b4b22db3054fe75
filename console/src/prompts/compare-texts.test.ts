import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { AWKWARD_TEXTS } from '../../../test/support/awkward.ts';
import { compareTexts } from './compare-texts.ts';

/** The parts as text: removed ones as `[-...-]`, added ones as `{+...+}`. */
const render = (before: string, after: string): string =>
  compareTexts(before, after)
    .map(({ value, added, removed }) => (added ? `{+${value}+}` : removed ? `[-${value}-]` : value))
    .join('');

describe('compareTexts', () => {
  it('names removed and added words, in every script', () => {
    assert.equal(render('Think about {{a}}.', 'Think hard about {{b}}.'), 'Think {+hard +}about {{[-a-]{+b+}}}.');
    assert.equal(render('You are a bot.', 'Answer as a poet.'), '[-You are-]{+Answer as+} a [-bot-]{+poet+}.');
    assert.equal(render('Привет мир', 'Привет море'), 'Привет [-мир-]{+море+}');
    assert.equal(render('', 'new'), '{+new+}');
    assert.equal(render('old', ''), '[-old-]');
  });

  it('shows spaces and line breaks where nothing else differs, and nothing for equal texts', () => {
    assert.equal(render('a b', 'a\nb'), 'a[- -]{+\n+}b');
    for (const text of AWKWARD_TEXTS) assert.equal(render(text, text), text);
  });

  it('compares long texts by lines, or as a whole', () => {
    const words = (count: number, name: string, separator: string) =>
      Array.from({ length: count }, (_, index) => `${name}${index}`).join(separator);
    // A comparison by words would keep "same", and one by lines the last line.
    const [first, second] = [`same ${words(600, 'a', ' ')}\n`, `same ${words(600, 'b', ' ')}\n`];
    assert.equal(render(`kept\n${first}`, `kept\n${second}`), `kept\n[-${first}-]{+${second}+}`);
    const lines = [`${words(600, 'a', '\n')}\nlast`, `${words(600, 'b', '\n')}\nlast`] as const;
    assert.equal(render(...lines), `[-${lines[0]}-]{+${lines[1]}+}`);
  });
});

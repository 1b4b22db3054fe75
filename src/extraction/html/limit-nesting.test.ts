import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { limitNesting, MAX_NESTING } from './limit-nesting.ts';

const deep = (tag: string, count: number) => `<${tag}>`.repeat(count);
const closed = (tag: string, count: number) => `</${tag}>`.repeat(count);

describe('limitNesting', () => {
  it('returns the same string below the limit', () => {
    const page = `${deep('div', MAX_NESTING)}<p class="a > b">text<br>${closed('div', MAX_NESTING)}<p>more`;
    assert.equal(limitNesting(page.replace('<p class', '<img class')), page.replace('<p class', '<img class'));
    assert.equal(limitNesting('no < markup & more'), 'no < markup & more');
  });

  it('removes deeper tags, keeps all text and the upper levels', () => {
    const inner = `<section id="x">a</section><b>c</b>d<script>if (a < b) '<p>'</script>`;
    const page = `${deep('div', MAX_NESTING)}${inner}${closed('div', MAX_NESTING)}<p>end</p>`;
    const bounded = page.replace('<section id="x">a</section><b>c</b>', ' a c');
    assert.equal(limitNesting(page), bounded);
  });

  it('removes the end tags of removed elements, however they are written', () => {
    const page = (inner: string) => `${deep('div', MAX_NESTING)}${inner}${closed('div', MAX_NESTING)}`;
    assert.equal(limitNesting(page('<DIV\n>a</ Div >')), page(' a '));
    assert.equal(limitNesting(page('<ul><li>a<li>b</ul>c')), page('  a b c'));
    assert.equal(limitNesting(`${deep('div', MAX_NESTING)}a<div class="`), `${deep('div', MAX_NESTING)}a `);
  });

  it('does not count elements with optional end tags as nested', () => {
    for (const page of [
      '<p>text'.repeat(MAX_NESTING * 2),
      `<ul>${'<li>item'.repeat(MAX_NESTING * 2)}</ul>`,
      `<dl>${'<dt>a<dd>b'.repeat(MAX_NESTING)}</dl>`,
      `<table><tbody>${'<tr><th>a<td>b'.repeat(MAX_NESTING)}</table>`,
      `<select>${'<optgroup><option>a<option>b'.repeat(4)}</select>`,
      '<br><img src=a>text'.repeat(MAX_NESTING),
    ]) {
      assert.equal(limitNesting(page), page);
    }
  });
});

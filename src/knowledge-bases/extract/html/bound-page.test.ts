import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { boundPage, MAX_NESTING } from './bound-page.ts';

const deep = (tag: string, count: number) => `<${tag}>`.repeat(count);
const closed = (tag: string, count: number) => `</${tag}>`.repeat(count);

describe('a page with bounded nesting', () => {
  it('is the same string where nothing nests too deep', () => {
    const page = `${deep('div', MAX_NESTING)}<p class="a > b">text<br>${closed('div', MAX_NESTING)}<p>more`;
    assert.equal(boundPage(page.replace('<p class', '<img class')), page.replace('<p class', '<img class'));
    assert.equal(boundPage('no < markup & more'), 'no < markup & more');
  });

  it('has no deeper tags, all of its text, and its upper levels as they were', () => {
    const inner = `<section id="x">a</section><b>c</b>d<script>if (a < b) '<p>'</script>`;
    const page = `${deep('div', MAX_NESTING)}${inner}${closed('div', MAX_NESTING)}<p>end</p>`;
    const bounded = page.replace('<section id="x">a</section><b>c</b>', ' a c');
    assert.equal(boundPage(page), bounded);
  });

  it('leaves out the end of what it has left out, however the tags are written', () => {
    const page = (inner: string) => `${deep('div', MAX_NESTING)}${inner}${closed('div', MAX_NESTING)}`;
    assert.equal(boundPage(page('<DIV\n>a</ Div >')), page(' a '));
    assert.equal(boundPage(page('<ul><li>a<li>b</ul>c')), page('  a b c'));
    assert.equal(boundPage(`${deep('div', MAX_NESTING)}a<div class="`), `${deep('div', MAX_NESTING)}a `);
  });

  it('counts no elements whose end tags are left out by many authors', () => {
    for (const page of [
      '<p>text'.repeat(MAX_NESTING * 2),
      `<ul>${'<li>item'.repeat(MAX_NESTING * 2)}</ul>`,
      `<dl>${'<dt>a<dd>b'.repeat(MAX_NESTING)}</dl>`,
      `<table><tbody>${'<tr><th>a<td>b'.repeat(MAX_NESTING)}</table>`,
      `<select>${'<optgroup><option>a<option>b'.repeat(4)}</select>`,
      '<br><img src=a>text'.repeat(MAX_NESTING),
    ]) {
      assert.equal(boundPage(page), page);
    }
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { linkToPassage } from './text-fragment.ts';

const PAGE = 'https://ashford.example/library';

describe('linkToPassage', () => {
  it('names a short passage as a whole, and encodes what separates parts of a directive', () => {
    const link = linkToPassage(PAGE, null, 'Open 9-5, "Mon–Fri" & holidays, 100 % 📚');
    assert.equal(
      link,
      `${PAGE}#:~:text=Open%209%2D5%2C%20%22Mon%E2%80%93Fri%22%20%26%20holidays%2C%20100%20%25%20%F0%9F%93%9A`,
    );
  });

  it('names both ends of a longer passage', () => {
    const link = linkToPassage(PAGE, null, 'one two three four five six seven eight nine ten eleven twelve thirteen');
    assert.equal(
      link,
      `${PAGE}#:~:text=one%20two%20three%20four%20five%20six,eight%20nine%20ten%20eleven%20twelve%20thirteen`,
    );
  });

  it('takes texts from one block each: a line, a cell, without its list mark', () => {
    assert.equal(
      linkToPassage(PAGE, null, '- Opening hours\n\n1. Saturday | nine to five'),
      `${PAGE}#:~:text=Opening%20hours,nine%20to%20five`,
    );
    assert.equal(linkToPassage(PAGE, null, 'A | B | C\n1 | 2'), PAGE, 'cells are too short to identify the place');
    assert.equal(linkToPassage(PAGE, null, `x ${'a'.repeat(61)}`), PAGE, 'no prose');
  });

  it('keeps the fragment of an address', () => {
    assert.equal(
      linkToPassage(`${PAGE}#hours`, null, 'Saturdays at nine'),
      `${PAGE}#hours:~:text=Saturdays%20at%20nine`,
    );
  });

  it('leads to the page of a PDF', () => {
    assert.equal(linkToPassage(`${PAGE}.pdf`, 3, 'Saturdays at nine'), `${PAGE}.pdf#page=3`);
    assert.equal(linkToPassage(`${PAGE}.pdf#page=1`, 3, 'Saturdays at nine'), `${PAGE}.pdf#page=1`);
  });

  it('leaves the addresses of objects unchanged, and has none for uploads', () => {
    assert.equal(linkToPassage('s3://bucket/a b.html', null, 'Saturdays at nine'), 's3://bucket/a b.html');
    assert.equal(linkToPassage('file-1', null, 'Saturdays at nine'), null);
    assert.equal(linkToPassage(null, null, 'Saturdays at nine'), null);
    assert.equal(linkToPassage('httpd-notes', null, 'Saturdays at nine'), null);
  });

  it('accepts text with lone surrogates', () => {
    assert.equal(linkToPassage(PAGE, null, 'Saturdays \ud83d nine'), `${PAGE}#:~:text=Saturdays%20%EF%BF%BD%20nine`);
  });
});

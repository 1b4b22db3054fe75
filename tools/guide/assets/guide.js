/** Search, copy buttons, theme and contents of the guide. Without scripts, the pages are complete but for these. */
import MiniSearch from './minisearch.js';

const MAX_HITS = 8;
/** The options with which `search-index.ts` writes the index. */
const OPTIONS = { fields: ['title', 'page', 'text'], storeFields: ['page', 'title', 'excerpt'] };
const QUERY = {
  prefix: true,
  fuzzy: 0.15,
  combineWith: 'AND',
  boost: { title: 4, page: 2 },
  // The guide explains what the reference lists.
  boostDocument: (id) => (id.startsWith('/docs/guide/api/') ? 0.6 : 1),
};

const root = document.documentElement;
const input = document.querySelector('#search');
const list = document.querySelector('#hits');
let index;
let selected = -1;

const loadIndex = () => {
  index ??= fetch(new URL('./search.json', import.meta.url))
    .then((response) => response.text())
    .then((json) => MiniSearch.loadJSON(json, OPTIONS));
  index.catch(() => {
    index = undefined;
  });
  return index;
};

function show(hits) {
  selected = hits.length > 0 ? 0 : -1;
  list.replaceChildren(...hits.map(renderHit));
  if (hits.length === 0) {
    const none = document.createElement('li');
    none.className = 'none';
    none.textContent = 'Nothing found.';
    list.append(none);
  }
  list.hidden = false;
  input.setAttribute('aria-expanded', 'true');
  select(selected);
}

function renderHit({ id, page, title, excerpt }, at) {
  const item = document.createElement('li');
  item.role = 'option';
  item.id = `hit-${at}`;
  const link = document.createElement('a');
  link.href = id;
  link.tabIndex = -1;
  const head = document.createElement('strong');
  head.textContent = title === page ? page : `${page} › ${title}`;
  const text = document.createElement('span');
  text.textContent = excerpt;
  link.append(head, text);
  item.append(link);
  return item;
}

function select(at) {
  const items = [...list.querySelectorAll('[role=option]')];
  selected = items.length === 0 ? -1 : (at + items.length) % items.length;
  for (const [i, item] of items.entries()) item.setAttribute('aria-selected', String(i === selected));
  if (selected >= 0) {
    input.setAttribute('aria-activedescendant', `hit-${selected}`);
    items[selected].scrollIntoView({ block: 'nearest' });
  } else input.removeAttribute('aria-activedescendant');
}

function close() {
  list.hidden = true;
  input.setAttribute('aria-expanded', 'false');
  input.removeAttribute('aria-activedescendant');
}

async function search() {
  const text = input.value.trim();
  if (text === '') return close();
  const loaded = await loadIndex();
  // A later input has its own search.
  if (text === input.value.trim()) show(loaded.search(text, QUERY).slice(0, MAX_HITS));
}

input.hidden = false;
input.addEventListener('focus', loadIndex, { once: true });
input.addEventListener('input', search);
input.addEventListener('keydown', (event) => {
  if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
    event.preventDefault();
    select(selected + (event.key === 'ArrowDown' ? 1 : -1));
  } else if (event.key === 'Enter') list.querySelector('[aria-selected=true] a')?.click();
  else if (event.key === 'Escape') {
    if (list.hidden) input.blur();
    close();
  }
});
document.addEventListener('click', (event) => {
  if (!event.target.closest('.search') || event.target.closest('#hits a')) close();
});
document.addEventListener('keydown', (event) => {
  if (event.key !== '/' || event.ctrlKey || event.metaKey || event.target.matches('input, textarea')) return;
  event.preventDefault();
  input.focus();
});

for (const button of document.querySelectorAll('.copy')) {
  // The clipboard needs HTTPS or localhost.
  if (navigator.clipboard === undefined) break;
  button.hidden = false;
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.nextElementSibling.textContent);
    button.textContent = 'Copied';
    setTimeout(() => {
      button.textContent = 'Copy';
    }, 1500);
  });
}

const theme = document.querySelector('#theme');
theme.hidden = false;
theme.addEventListener('click', () => {
  const next = root.dataset.mantineColorScheme === 'dark' ? 'light' : 'dark';
  root.dataset.mantineColorScheme = next;
  localStorage.setItem('mantine-color-scheme-value', next);
});

const menu = document.querySelector('#menu');
const navigation = document.querySelector('#navigation');
menu.hidden = false;
menu.addEventListener('click', () => {
  const isOpen = navigation.classList.toggle('open');
  menu.setAttribute('aria-expanded', String(isOpen));
});
navigation.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest' });

// Applies the colour scheme of the console to the API reference. Earlier versions stored the entered API key: it is
// removed.
const stored = localStorage.getItem('mantine-color-scheme-value');
const isDark =
  stored === 'light' || stored === 'dark' ? stored === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
document.documentElement.classList.toggle('dark-mode', isDark);
localStorage.removeItem('authorized');

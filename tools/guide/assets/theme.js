// Runs before the first paint. The key is the one of the console, so both have one setting.
const darkSystem = matchMedia('(prefers-color-scheme: dark)');

function applyTheme() {
  const stored = localStorage.getItem('mantine-color-scheme-value');
  const system = darkSystem.matches ? 'dark' : 'light';
  document.documentElement.dataset.mantineColorScheme = stored === 'light' || stored === 'dark' ? stored : system;
}

applyTheme();
darkSystem.addEventListener('change', applyTheme);

/** Browser globals that modules of the console read at import. Import this file first, for its side effects. */
const address = 'http://console.test';

type Fetch = typeof globalThis.fetch;

const unexpected: Fetch = async (input) => {
  throw new Error(`a request that no test expects: ${input instanceof Request ? input.url : input}`);
};
let current: Fetch = unexpected;

Object.assign(globalThis, {
  location: { origin: address, href: `${address}/` },
  requestAnimationFrame: (show: () => void) => setTimeout(show, 1),
  cancelAnimationFrame: (frame: NodeJS.Timeout) => clearTimeout(frame),
  // The client of the API keeps the `fetch` that it finds when it is created.
  fetch: ((input, init) => current(input, init)) satisfies Fetch,
});

/** Sets the function that answers requests; null: none is expected. */
export function setFetch(fetch: Fetch | null): void {
  current = fetch ?? unexpected;
}

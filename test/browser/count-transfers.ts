import type { Page } from 'playwright-core';

/** Compressed bytes of responses, with their headers. */
export interface Transfers {
  scriptBytes: number;
  allBytes: number;
  requests: number;
}

/** Counts the responses of a page from now on. */
export async function countTransfers(page: Page): Promise<Transfers> {
  const totals = { scriptBytes: 0, allBytes: 0, requests: 0 };
  const scripts = new Set<string>();
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  session.on('Network.responseReceived', ({ requestId, type }) => type === 'Script' && scripts.add(requestId));
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    totals.requests += 1;
    totals.allBytes += encodedDataLength;
    if (scripts.has(requestId)) totals.scriptBytes += encodedDataLength;
  });
  return totals;
}

import { readFileSync } from 'node:fs';
import type { Browser, BrowserContext } from 'playwright-core';

/** Heap of one page's JavaScript. */
const PAGE_HEAP_MB = 256;
const LAUNCH_TIMEOUT_MS = 20_000;
/** Time for an orderly end; then the processes are killed. */
const CLOSE_TIMEOUT_MS = 3_000;

/**
 * Flags of Chromium. It has no network: every request is answered by the interception of `PageRenderer`. What the
 * interception does not see (WebSocket, WebTransport, redirects, preconnect) needs a proxy that does not exist, and
 * WebRTC sends no UDP. The second WebRTC flag is the name in older versions.
 */
const FLAGS = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-extensions',
  '--proxy-server=http://no-network.invalid:1',
  '--proxy-bypass-list=<-loopback>',
  '--host-resolver-rules=MAP * ~NOTFOUND',
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
  `--js-flags=--max-old-space-size=${PAGE_HEAP_MB}`,
];

/** A running Chromium without network. Ends when this process ends: its debugging pipe closes. */
export class Chromium {
  readonly browser: Browser;
  readonly #profile: BrowserContext;
  #pids: number[] = [];

  private constructor(profile: BrowserContext, browser: Browser) {
    this.#profile = profile;
    this.browser = browser;
  }

  /** Starts Chromium with an empty profile in `folder`. Throws Playwright's error with the output of Chromium. */
  static async launch(executablePath: string, folder: string): Promise<Chromium> {
    const { chromium } = await import('playwright-core');
    // A persistent profile, because others are created in the system's temporary folder and stay there after a kill.
    const profile = await chromium.launchPersistentContext(folder, {
      executablePath,
      headless: true,
      // The sandbox of Chromium does not run as root.
      chromiumSandbox: process.getuid?.() !== 0,
      args: FLAGS,
      timeout: LAUNCH_TIMEOUT_MS,
      // No secrets of the service.
      env: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: folder, LANG: 'C.UTF-8' },
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    });
    const browser = profile.browser();
    if (browser === null) throw new Error('the profile has no browser');
    const started = new Chromium(profile, browser);
    await started.memoryBytes();
    return started;
  }

  /** Private memory of all processes of the browser. 0 where `/proc` does not exist. */
  async memoryBytes(): Promise<number> {
    const session = await this.browser.newBrowserCDPSession();
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    await session.detach();
    // The browser process first, so that `kill` ends it before it restarts another.
    const [main, others] = [true, false].map((isMain) =>
      processInfo.filter(({ type }) => (type === 'browser') === isMain).map(({ id }) => id),
    );
    this.#pids = [...(main ?? []), ...(others ?? [])];
    return this.#pids.reduce((sum, pid) => sum + privateBytes(pid), 0);
  }

  /** Ends all processes at once. */
  kill(): void {
    for (const pid of this.#pids) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It has ended.
      }
    }
    this.#pids = [];
  }

  /** Ends the browser, with a kill if it does not end by itself. May be called twice. */
  async close(): Promise<void> {
    const timer = setTimeout(() => this.kill(), CLOSE_TIMEOUT_MS);
    // A browser that was killed has closed its context already.
    await this.#profile.close().catch(() => {});
    clearTimeout(timer);
  }
}

function privateBytes(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
}

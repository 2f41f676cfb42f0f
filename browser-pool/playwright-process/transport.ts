import type { ConnectOverCDPTransport } from "playwright-core";
import type { CdpPipe } from "../cdp/pipe.ts";

/**
 * The CDP messages of a browser, over the connection to the pool. Playwright gets one message in each macrotask: with
 * several in one macrotask it misses events, such as popups of a burst.
 */
export class LineTransport implements ConnectOverCDPTransport {
  onmessage?: (message: object) => void;
  onclose?: (reason?: string) => void;
  readonly #line: CdpPipe;
  readonly #end: () => void;
  readonly #waiting: Buffer[] = [];
  #isBusy = false;

  /** `end`: closes the connection. */
  constructor(line: CdpPipe, end: () => void) {
    this.#line = line;
    this.#end = end;
  }

  send(message: object): void {
    this.#line.write(JSON.stringify(message));
  }

  close(): void {
    this.#end();
  }

  /** The first of several that came together goes at once, since nothing else is in this macrotask. */
  receive(bytes: Buffer): void {
    if (this.#isBusy) {
      this.#waiting.push(bytes);
      return;
    }
    this.#isBusy = true;
    setImmediate(() => this.#next());
    this.#deliver(bytes);
  }

  #next(): void {
    const bytes = this.#waiting.shift();
    this.#isBusy = bytes !== undefined;
    if (!bytes) return;
    setImmediate(() => this.#next());
    this.#deliver(bytes);
  }

  #deliver(bytes: Buffer): void {
    this.onmessage?.(JSON.parse(bytes.toString()));
  }

  closed(): void {
    setImmediate(() => this.onclose?.("The browser is gone."));
  }
}

import { Server } from "node:http";
import type { Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { StorageState } from "@svc/contract/browser/storage-state.ts";
import { CdpPipe } from "../cdp/pipe.ts";
import { inTime } from "@svc/host-kit/deadline.ts";
import {
  type Answer,
  type CustomerEvent,
  type Handover,
  Question,
  controlText,
  isControl,
  readControl,
} from "../playwrights/messages.ts";
import { endpointOf, filesOf, proxyOf } from "../playwrights/folders.ts";
import { UnknownPlaywright } from "../playwrights/served-versions.ts";
import { ClientContexts } from "./client-contexts.ts";
import { confine, keepEndpoint, noteOrigins } from "./confinement.ts";
import { Customer } from "./customer.ts";
import { listeningAt } from "./network.ts";
import type { Playwright, PlaywrightBrowser } from "./packages.ts";
import { LineTransport } from "./transport.ts";

/** As long as a launch may take: attaching is part of a launch. */
const ATTACH_MS = 60_000;

/** How long a client waits for the end of what another one has left. */
const LEAVING_MS = 2_000;

type Goodbye = Extract<Question, { end: number }>;

/** The Playwright of this process, the folder that it shares with the pool, and its own folder in there. */
export interface ThisPlaywright {
  playwright: Playwright;
  root: string;
  home: string;
  /** By the keys of their slots. */
  attachments: Map<string, Attachment>;
}

/** One browser that the pool lets this Playwright drive, for as long as the connection lasts. */
export class Attachment {
  readonly #own: ThisPlaywright;
  readonly #line: CdpPipe;
  readonly #transport: LineTransport;
  readonly #customers = new Map<number, Customer>();
  /** Goodbyes to customers whose sockets have yet to arrive. */
  readonly #goodbyes = new Map<number, Goodbye>();
  #key = "";
  #browser: PlaywrightBrowser | null = null;
  #server: Server | null = null;
  #contexts: ClientContexts | null = null;

  constructor(own: ThisPlaywright, socket: Socket) {
    this.#own = own;
    this.#line = new CdpPipe(socket, socket);
    this.#transport = new LineTransport(this.#line, () => socket.destroy());
    this.#line.open(
      (bytes) => void (isControl(bytes) ? this.#answer(bytes) : this.#transport.receive(bytes)),
      () => this.#closed(),
    );
  }

  /** Takes over the socket of a customer; null when the socket did not arrive. */
  async accept(handover: Handover, socket: Socket | null): Promise<void> {
    const { client } = handover;
    const server = this.#server;
    const contexts = this.#contexts;
    if (!socket || !server || !contexts) {
      socket?.destroy();
      return this.#tell(client, "dropped");
    }
    const customer: Customer = new Customer(socket, {
      say: (event) => this.#tell(client, event),
      onGoodbye: () => contexts.left(customer, "clean"),
      onEnd: (end) => {
        this.#customers.delete(client);
        this.#goodbyes.delete(client);
        contexts.left(customer, end);
        this.#tell(client, end);
      },
    });
    this.#tell(client, "taken");
    // A client before that said goodbye is heard first, and what it leaves is gone before the next one looks.
    await nextTurn();
    await inTime(contexts.settled(), LEAVING_MS);
    if (customer.isOver) return;
    this.#customers.set(client, customer);
    contexts.serve(customer, () => customer.start(server, handover));
    const goodbye = this.#goodbyes.get(client);
    if (goodbye) this.#end(goodbye);
  }

  #tell(client: number, event: CustomerEvent): void {
    this.#line.write(controlText({ client, event }));
  }

  #end(goodbye: Goodbye): void {
    const customer = this.#customers.get(goodbye.end);
    if (customer) customer.end(goodbye.code, goodbye.reason);
    else this.#goodbyes.set(goodbye.end, goodbye);
  }

  #closed(): void {
    const { attachments } = this.#own;
    if (attachments.get(this.#key) === this) attachments.delete(this.#key);
    this.#transport.closed();
  }

  async #answer(bytes: Buffer): Promise<void> {
    const question = Question.parse(readControl(bytes));
    if ("end" in question) {
      this.#end(question);
      return;
    }
    const answer = await this.#answerTo(question).catch((error: unknown) => ({
      failed: error instanceof Error ? error.message : String(error),
      isUnknown: error instanceof UnknownPlaywright,
    }));
    this.#line.write(controlText(answer));
  }

  async #answerTo(question: Exclude<Question, Goodbye>): Promise<Answer> {
    if ("ping" in question) return { pong: true };
    if ("note" in question) return this.#note(question.note);
    return "attach" in question ? this.#attach(question.attach) : this.#seed(question.seed);
  }

  async #attach(key: string): Promise<Answer> {
    const { playwright, root, home } = this.#own;
    // Files of uploads and downloads must lie where the browser sees them.
    const options = { artifactsDir: filesOf(root, key), timeout: ATTACH_MS };
    const browser = await playwright.chromium.connectOverCDP(this.#transport, options);
    confine(browser, proxyOf(key));
    this.#contexts = new ClientContexts(browser);
    this.#browser = browser;
    const [context] = browser.contexts();
    if (!context) throw new Error("the browser has no default context");
    // Every new session has a page.
    if (context.pages().length === 0) await context.newPage();
    const socket = endpointOf(home, key);
    const bind = () => browser.bind("svc", { host: "127.0.0.1", port: 0 });
    const { result, server } = await listeningAt(socket, bind);
    const { endpoint } = result;
    if (!(server instanceof Server) || !endpoint.startsWith(`${socket}/`))
      throw new UnknownPlaywright();
    keepEndpoint(browser);
    this.#server = server;
    this.#key = key;
    this.#own.attachments.set(key, this);
    return { attached: endpoint.slice(socket.length) };
  }

  async #seed(state: StorageState): Promise<Answer> {
    const [context] = this.#attached().contexts();
    if (!context) throw new Error("the browser has no default context");
    await context.setStorageState(state);
    return { seeded: true };
  }

  #note(origins: string[]): Answer {
    noteOrigins(this.#attached(), origins);
    return { noted: true };
  }

  #attached(): PlaywrightBrowser {
    if (!this.#browser) throw new Error("no browser is attached");
    return this.#browser;
  }
}

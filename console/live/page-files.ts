import type { PageAsks } from "@svc/contract/browser/take-over.ts";
import { part } from "./view.ts";

type Asks = Extract<PageAsks, { type: "fileChooser" }>;
type Send = (message: object) => void;

/** Files that the page wants: the person chooses them here, and they are brought into the session first. */
export class PageFiles {
  readonly #send: Send;
  readonly #tell: (text: string) => void;
  readonly #box = part("dialog", "files");
  readonly #input = part("input", "files-input");
  /** Files that are on their way, by name. */
  #going = new Map<string, File>();
  #there: string[] = [];

  constructor(send: Send, tell: (text: string) => void) {
    this.#send = send;
    this.#tell = tell;
    part("button", "files-no").addEventListener("click", () => this.#cancel());
    this.#box.addEventListener("cancel", () => this.#cancel());
    this.#input.addEventListener("change", () => this.#chosen([...(this.#input.files ?? [])]));
  }

  asked({ kind }: Asks): void {
    if (kind === "gone") return this.#box.close();
    this.#input.multiple = kind === "several";
    this.#input.value = "";
    if (!this.#box.open) this.#box.showModal();
  }

  /** Sends the bytes of a file to the path that the gateway has offered. */
  async bring({ name, path }: { name: string; path: string }): Promise<void> {
    const file = this.#going.get(name);
    if (!file) return;
    const answer = await fetch(path, { method: "PUT", body: file }).catch(() => null);
    this.#going.delete(name);
    if (answer?.ok) this.#there.push(name);
    else this.#tell(`${name} could not be sent.`);
    if (this.#going.size > 0) return;
    if (this.#there.length > 0)
      this.#send({ type: "files", action: "give", names: this.#there.splice(0) });
    else this.#send({ type: "files", action: "cancel" });
  }

  #chosen(files: File[]): void {
    this.#box.close();
    if (files.length === 0) return this.#send({ type: "files", action: "cancel" });
    this.#there = [];
    this.#going = new Map(files.slice(0, MOST_FILES).map((file) => [file.name, file]));
    for (const name of this.#going.keys()) this.#send({ type: "askUpload", name });
  }

  #cancel(): void {
    this.#box.close();
    this.#send({ type: "files", action: "cancel" });
  }
}

/** The most files that a page is given at once. */
const MOST_FILES = 16;

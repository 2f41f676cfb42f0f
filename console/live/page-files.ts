import type { PageAsks } from "@svc/contract/browser/take-over.ts";
import { fitName, freeName } from "@svc/contract/browser/file-name.ts";
import { PERSON_LIMITS } from "@svc/contract/browser/person-limits.ts";
import { part } from "./view.ts";

type Asks = Extract<PageAsks, { type: "fileChooser" }>;
const MOST = PERSON_LIMITS.files;

type Send = (message: object) => void;

/** Files that the page wants: the person chooses them here, and they are brought into the session first. */
export class PageFiles {
  readonly #send: Send;
  readonly #tell: (text: string) => void;
  readonly #box = part("dialog", "files");
  readonly #input = part("input", "files-input");
  /** Files that are on their way, by name. */
  readonly #going = new Map<string, File>();
  /** Names that were chosen, in their order, and those of them that the session has. */
  #chosenNames: string[] = [];
  readonly #there = new Set<string>();

  constructor(send: Send, tell: (text: string) => void) {
    this.#send = send;
    this.#tell = tell;
    part("button", "files-no").addEventListener("click", () => this.#cancel());
    this.#box.addEventListener("cancel", () => this.#cancel());
    this.#input.addEventListener("change", () => this.#chosen([...(this.#input.files ?? [])]));
  }

  asked({ kind }: Asks): void {
    this.close();
    if (kind === "gone") return;
    this.#input.multiple = kind === "several";
    this.#input.value = "";
    this.#box.showModal();
  }

  /** Sends the bytes of a file to the path that the gateway has offered. */
  async bring({ name, path }: { name: string; path: string }): Promise<void> {
    const file = this.#going.get(name);
    if (!file) return;
    const answer = await fetch(path, { method: "PUT", body: file }).catch(() => null);
    // Meanwhile the page may want others, or none.
    if (this.#going.get(name) !== file) return;
    this.#going.delete(name);
    if (answer?.ok) this.#there.add(name);
    else this.#tell(`${name} could not be sent.`);
    if (this.#going.size > 0) return;
    const names = this.#chosenNames.filter((each) => this.#there.has(each));
    if (names.length > 0) this.#send({ type: "files", action: "give", names });
    else this.#send({ type: "files", action: "cancel" });
  }

  /** The page wants no files any more, or cannot be told of any. */
  close(): void {
    this.#going.clear();
    this.#box.close();
  }

  #chosen(files: File[]): void {
    this.close();
    if (files.length === 0) return this.#send({ type: "files", action: "cancel" });
    if (files.length > MOST) this.#tell(`Only the first ${MOST} files are given to the page.`);
    this.#there.clear();
    for (const file of files.slice(0, MOST)) {
      const name = freeName(fitName(file.name, "file"), (taken) => this.#going.has(taken));
      this.#going.set(name, file);
    }
    this.#chosenNames = [...this.#going.keys()];
    for (const name of this.#chosenNames) this.#send({ type: "askUpload", name });
  }

  #cancel(): void {
    this.close();
    this.#send({ type: "files", action: "cancel" });
  }
}

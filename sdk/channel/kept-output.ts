import { EXEC_OUTPUT_BYTES } from "@svc/contract/control-channel/protocol.ts";

/** A single stream of output as text: its first 8 MiB are kept, a listener gets each piece. */
export class KeptOutput {
  readonly #onText: ((text: string) => void) | undefined;
  readonly #decoder = new TextDecoder();
  readonly #texts: string[] = [];
  #bytes = 0;
  isCut = false;

  constructor(onText?: (text: string) => void) {
    this.#onText = onText;
  }

  push(bytes: Uint8Array): void {
    const text = this.#decoder.decode(bytes, { stream: true });
    this.#onText?.(text);
    this.#bytes += bytes.length;
    if (this.#bytes <= EXEC_OUTPUT_BYTES) this.#texts.push(text);
    else this.isCut = true;
  }

  /** The text that was kept. Bytes that are no UTF-8 are replacement characters. */
  text(): string {
    return this.#texts.join("") + this.#decoder.decode();
  }
}

/** Both streams as the fields of a result. */
export const keptTexts = (kept: {
  1: KeptOutput;
  2: KeptOutput;
}): { stdout: string; stderr: string; truncated?: true } => ({
  stdout: kept[1].text(),
  stderr: kept[2].text(),
  ...((kept[1].isCut || kept[2].isCut) && { truncated: true }),
});

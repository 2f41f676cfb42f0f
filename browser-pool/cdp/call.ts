import { LIMITS } from "@svc/contract/limits.ts";
import { type JsonObject, isObject } from "./envelope.ts";
import { type Member, MemberScanner } from "./member-scanner.ts";
import { MessageEnds, tooLongText } from "./message-ends.ts";
import { Pieces } from "./pieces.ts";
import { Utf8Check } from "./utf8-check.ts";

const PARSE_ERROR = { code: -32700, message: "Message must be a valid JSON object" };
const INVALID = { code: -32600, message: "Message must have integer 'id' and string 'method'" };

/** Shorter messages are parsed: that is faster, and they cannot be nested deeper than Chromium reads. */
const PARSED_BYTES = 600;
/** No name or id that a browser knows is longer, whatever of it is escaped. */
const LONGEST_NAME_BYTES = 4_096;

/** Longer parameters are passed on as they are, never parsed: that would stop everybody. */
const LONGEST_PARAMS_BYTES = 64 * 1024;

/** Calls after which a page is no more what it was. */
export const CLOSING: ReadonlySet<string> = new Set([
  "Page.close",
  "Page.navigate",
  "Page.reload",
  "Page.navigateToHistoryEntry",
  "Target.closeTarget",
  "Target.disposeBrowserContext",
]);

/** A call as a client sends it. */
export interface ClientCall {
  id: number;
  method: string;
  params?: unknown;
  /** In place of `params`: their JSON, which nobody has parsed. */
  rawParams?: Buffer[];
  sessionId?: string;
}

/** The error reply to a text that is no call, or is one that a browser would not survive. */
export interface NoCall {
  error: JsonObject;
  id?: number;
  sessionId?: string;
}

/** The call in a short text. */
function parseCall(text: string): ClientCall | NoCall {
  let call: unknown;
  try {
    call = JSON.parse(text);
  } catch {
    return { error: PARSE_ERROR };
  }
  if (!isObject(call)) return { error: PARSE_ERROR };
  const { id, method, params, sessionId } = call;
  return callOf(id, method, sessionId, params === undefined ? {} : { params });
}

function callOf(
  id: unknown,
  method: unknown,
  sessionId: unknown,
  content: Pick<ClientCall, "params" | "rawParams">,
): ClientCall | NoCall {
  if (typeof id !== "number" || !Number.isInteger(id)) return { error: INVALID };
  if (typeof method !== "string") return { id, error: INVALID };
  const where = typeof sessionId === "string" && sessionId !== "" ? { sessionId } : {};
  return { id, method, ...content, ...where };
}

/** Reads the call in a message as its pieces come: a long one is neither parsed nor joined. Never throws. */
export class CallReader {
  #pieces = new Pieces();
  readonly #utf8 = new Utf8Check();
  #scanner: MemberScanner | null = null;
  /** Of a message that is too long. */
  #ends: MessageEnds | null = null;

  /** How many bytes of the message are kept. */
  get size(): number {
    return this.#pieces.size;
  }

  /** The whole message, when it is short. */
  get short(): Buffer | null {
    return this.size > LONGEST_NAME_BYTES ? null : this.#pieces.join();
  }

  push(piece: Buffer): void {
    if (this.#ends) {
      this.#ends.push(piece);
      return;
    }
    this.#pieces.push(piece);
    if (this.#pieces.size > LIMITS.wireMessageBytes) this.#giveUp();
    else if (this.#scanner) this.#scan(piece);
    else if (this.#pieces.size >= PARSED_BYTES) {
      this.#scanner = new MemberScanner();
      for (const each of this.#pieces.list) this.#scan(each);
    }
  }

  /** The call, or what to reply to what is none. */
  end(): ClientCall | NoCall {
    if (this.#ends) return tooLong(this.#ends);
    const scanner = this.#scanner;
    if (!scanner) return parseCall(this.#pieces.join().toString());
    if (!scanner.isWhole || !this.#utf8.isWhole) return { error: PARSE_ERROR };
    // As in JSON.parse the last one of a name counts; the browser is sent that one alone.
    const members = new Map(scanner.members.map((member) => [this.#nameOf(member), member]));
    const value = (name: string): unknown => this.#valueOf(members.get(name));
    const params = members.get("params");
    const content = params ? { rawParams: this.#pieces.slice(params.start, params.end) } : {};
    return callOf(value("id"), value("method"), value("sessionId"), content);
  }

  #giveUp(): void {
    this.#ends = new MessageEnds(this.#pieces);
    this.#pieces = new Pieces();
    this.#scanner = null;
  }

  #scan(piece: Buffer): void {
    this.#utf8.push(piece);
    this.#scanner?.push(piece);
  }

  #nameOf({ keyStart, keyEnd }: Member): unknown {
    return this.#parsed(keyStart, keyEnd);
  }

  #valueOf(member: Member | undefined): unknown {
    return member && this.#parsed(member.start, member.end);
  }

  #parsed(start: number, end: number): unknown {
    if (end - start > LONGEST_NAME_BYTES) return null;
    const value: unknown = JSON.parse(this.#pieces.bytes(start, end).toString());
    return value;
  }
}

function tooLong({ route }: MessageEnds): NoCall {
  const { id, sessionId } = route;
  return {
    ...(id !== null && { id }),
    error: { code: -32000, message: tooLongText("The message") },
    ...(sessionId !== null && { sessionId }),
  };
}

/** The call in a text that is at hand. */
export function readCall(text: string): ClientCall | NoCall {
  const reader = new CallReader();
  reader.push(Buffer.from(text));
  return reader.end();
}

/** The parameters of a call that the pool passes on as its own. Throws for what is no JSON, or too long to be parsed. */
export function paramsOf({ params, rawParams = [] }: ClientCall): JsonObject {
  const bytes = rawParams.reduce((sum, { length }) => sum + length, 0);
  if (bytes > LONGEST_PARAMS_BYTES) throw new Error("The parameters are too long.");
  const value: unknown = bytes > 0 ? JSON.parse(Buffer.concat(rawParams).toString()) : params;
  return isObject(value) ? value : {};
}

/** A client's call as the browser is sent it: what the client said besides does not reach the browser. */
export function messageOf(call: ClientCall, id: number, sessionId: string): string | Buffer[] {
  const { method, params, rawParams } = call;
  const text = JSON.stringify({ id, method, sessionId, params });
  if (!rawParams) return text;
  return [Buffer.from(`${text.slice(0, -1)},"params":`), ...rawParams, Buffer.from("}")];
}

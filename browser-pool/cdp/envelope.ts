import { LIMITS } from "@svc/contract/limits.ts";
import { type Member, MemberScanner } from "./member-scanner.ts";
import { MessageEnds } from "./message-ends.ts";
import { Pieces, sliceOf } from "./pieces.ts";
import { HEAD_BYTES, type Route, SESSION_BYTES, beginsAsUsual, childIn, routeBy } from "./route.ts";

/** Messages whose members come in another order are parsed up to this length, and scanned beyond it. */
const PARSED_BYTES = 64 * 1024;

/** The headers of a response fit into a message of this length. */
const PLAIN_BYTES = 512 * 1024;

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null;
}

/** Gathers a message of the browser from its pieces. */
export class EnvelopeReader {
  #pieces = new Pieces();
  #scanner: MemberScanner | null = null;
  readonly #plain: (bytes: Buffer) => Buffer;
  #isUsual = false;
  /** Of a message that is too long. */
  #ends: MessageEnds | null = null;

  /** `plain` turns a message that is not long into what clients are to see. */
  constructor(plain: (bytes: Buffer) => Buffer = (bytes) => bytes) {
    this.#plain = plain;
  }

  push(piece: Buffer): void {
    if (this.#ends) {
      this.#ends.push(piece);
      return;
    }
    this.#pieces.push(piece);
    if (this.#pieces.size > LIMITS.wireMessageBytes) this.#giveUp();
    else if (this.#scanner) this.#scanner.push(piece);
    else if (this.#pieces.size > PARSED_BYTES && !this.#isUsual) this.#look();
  }

  /** The message; where it is for, when it is too long to be passed. */
  end(): Envelope | { tooLong: Route } {
    if (this.#ends) return { tooLong: this.#ends.route };
    if (!this.#scanner && this.#pieces.size <= PLAIN_BYTES) {
      const seen = new Pieces();
      seen.push(this.#plain(this.#pieces.join()));
      return new Envelope(seen);
    }
    const members = this.#scanner?.isWhole ? this.#scanner.members : null;
    return new Envelope(this.#pieces, members);
  }

  #look(): void {
    this.#isUsual = beginsAsUsual(this.#pieces.bytes(0, HEAD_BYTES));
    if (this.#isUsual) return;
    this.#scanner = new MemberScanner();
    for (const each of this.#pieces.list) this.#scanner.push(each);
  }

  #giveUp(): void {
    this.#ends = new MessageEnds(this.#pieces);
    this.#pieces = new Pieces();
    this.#scanner = null;
  }
}

/** A message from the browser: its addressee, and its content, which is parsed only when somebody asks for it. */
export class Envelope {
  /** The id of the call that the message answers, as the multiplexer numbered it; null for an event. */
  readonly id: number | null;
  readonly method: string | null;
  readonly sessionId: string | null;
  readonly #pieces: Pieces;
  readonly #head: Buffer;
  /** Where the id ends, when the message can be spliced. */
  readonly #idEnd: number;
  readonly #isSpliceable: boolean;
  readonly #members: Member[] | null;
  #object: JsonObject | null = null;

  /** `members`: of a message that was scanned. */
  constructor(pieces: Pieces, members: Member[] | null = null) {
    this.#pieces = pieces;
    this.#members = members;
    const { size } = pieces;
    this.#head = pieces.bytes(0, HEAD_BYTES);
    const tail = pieces.bytes(Math.max(0, size - SESSION_BYTES), size);
    const route = routeBy(this.#head, tail);
    const isBegun = route.id !== null || route.method !== null;
    this.#isSpliceable = isBegun && (route.sessionId !== null || size > PARSED_BYTES);
    this.#idEnd = route.id === null ? 0 : this.#head.indexOf(",");
    const known = this.#isSpliceable ? route : this.#routeInside();
    this.id = known.id;
    this.method = known.method;
    this.sessionId = known.sessionId;
  }

  /** The session that an event names in its parameters: one that has begun or ended. */
  get child(): string | null {
    const first = childIn(this.#head);
    if (first) return first;
    const { params } = this.object();
    return isObject(params) && typeof params.sessionId === "string" ? params.sessionId : null;
  }

  /** The whole message, parsed. Only for messages that the pool itself has asked for. */
  object(): JsonObject {
    if (this.#object) return this.#object;
    this.#object = parsed(this.#pieces.join());
    return this.#object;
  }

  /** The message with a client's own id, and without a session where the client has none. */
  objectFor(id: number | null, keepsSession: boolean): JsonObject {
    const message = { ...this.object() };
    if (id !== null) message.id = id;
    if (!keepsSession) delete message.sessionId;
    return message;
  }

  /** The same as bytes, in pieces. */
  bytesFor(id: number | null, keepsSession: boolean): Buffer[] {
    if (!this.#isSpliceable) return this.#rebuiltFor(id, keepsSession);
    const dropped = keepsSession || this.sessionId === null ? 0 : SESSION_BYTES;
    const end = this.#pieces.size - dropped;
    const head = id === null ? "" : `{"id":${id}`;
    const body = this.#pieces.slice(id === null ? 0 : this.#idEnd, end);
    return [Buffer.from(head), ...body, Buffer.from(dropped ? "}" : "")];
  }

  #rebuiltFor(id: number | null, keepsSession: boolean): Buffer[] {
    if (!this.#members) return [Buffer.from(JSON.stringify(this.objectFor(id, keepsSession)))];
    const { list } = this.#pieces;
    const kept: Buffer[] = [Buffer.from(id === null ? "{" : `{"id":${id}`)];
    let isFirst = id === null;
    for (const { keyStart, end, keyEnd } of this.#members) {
      const name = this.#text(keyStart, keyEnd);
      if ((name === "id" && id !== null) || (name === "sessionId" && !keepsSession)) continue;
      if (!isFirst) kept.push(Buffer.from(","));
      isFirst = false;
      kept.push(...sliceOf(list, keyStart, end));
    }
    return [...kept, Buffer.from("}")];
  }

  #routeInside(): Route {
    if (this.#pieces.size <= PARSED_BYTES) return routeOf(this.object());
    const members = (this.#members ?? []).map(({ keyStart, keyEnd, start, end }) => {
      const isShort = end - start <= HEAD_BYTES;
      return [this.#text(keyStart, keyEnd), isShort ? this.#text(start, end) : null];
    });
    return routeOf(Object.fromEntries(members));
  }

  #text(start: number, end: number): unknown {
    const value: unknown = JSON.parse(this.#pieces.bytes(start, end).toString());
    return value;
  }
}

function parsed(bytes: Buffer): JsonObject {
  try {
    const value: unknown = JSON.parse(bytes.toString());
    return isObject(value) ? value : {};
  } catch {
    // A browser that prints no JSON has been taken over: nobody is to hear of the message.
    return {};
  }
}

function routeOf(message: JsonObject): Route {
  const { id, method, sessionId } = message;
  return {
    id: typeof id === "number" ? id : null,
    method: typeof method === "string" ? method : null,
    sessionId: typeof sessionId === "string" ? sessionId : null,
  };
}

// Chromium prints the id or the method first and a session's id last. Being the first and the last member
// they are of the top level, so that most messages can be routed, and given another id, without being parsed.
const REPLY = /^\{"id":(\d+),/;
const EVENT = /^\{"method":"(\w+\.\w+)"/;
const SESSION = /^,"sessionId":"([0-9A-F]{32})"\}$/;
const SESSION_BYTES = 48;
const HEAD_BYTES = 100;

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null;
}

/** A message from the browser: its addressee, and its content, which is parsed only when somebody asks for it. */
export class Envelope {
  /** The id of the call that the message answers, as the multiplexer numbered it; null for an event. */
  readonly id: number | null;
  readonly method: string | null;
  readonly sessionId: string | null;
  readonly #bytes: Buffer;
  /** Where the id ends, when the message can be spliced. */
  readonly #idEnd: number;
  readonly #isSpliceable: boolean;
  #object: JsonObject | null = null;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    const head = bytes.toString("latin1", 0, HEAD_BYTES);
    const tail = bytes.toString("latin1", Math.max(0, bytes.length - SESSION_BYTES));
    const session = SESSION.exec(tail)?.[1];
    const id = REPLY.exec(head)?.[1];
    const method = EVENT.exec(head)?.[1];
    this.#isSpliceable = session !== undefined && (id ?? method) !== undefined;
    this.#idEnd = id ? 6 + id.length : 0;
    const known = this.#isSpliceable
      ? { id: id ? Number(id) : null, method: method ?? null, sessionId: session ?? null }
      : routeOf(this.object());
    this.id = known.id;
    this.method = known.method;
    this.sessionId = known.sessionId;
  }

  /** The whole message. */
  object(): JsonObject {
    if (this.#object) return this.#object;
    const parsed: unknown = JSON.parse(this.#bytes.toString());
    this.#object = isObject(parsed) ? parsed : {};
    return this.#object;
  }

  /** The message with a client's own id, and without a session where the client has none. */
  objectFor(id: number | null, keepsSession: boolean): JsonObject {
    const message = { ...this.object() };
    if (id !== null) message.id = id;
    if (!keepsSession) delete message.sessionId;
    return message;
  }

  /** The same as text. */
  textFor(id: number | null, keepsSession: boolean): Buffer {
    if (!this.#isSpliceable) return Buffer.from(JSON.stringify(this.objectFor(id, keepsSession)));
    const end = this.#bytes.length - (keepsSession ? 0 : SESSION_BYTES);
    const body = this.#bytes.subarray(this.#idEnd, end);
    const head = id === null ? "" : `{"id":${id}`;
    return Buffer.concat([Buffer.from(head), body, Buffer.from(keepsSession ? "" : "}")]);
  }
}

function routeOf(message: JsonObject) {
  const { id, method, sessionId } = message;
  return {
    id: typeof id === "number" ? id : null,
    method: typeof method === "string" ? method : null,
    sessionId: typeof sessionId === "string" ? sessionId : null,
  };
}

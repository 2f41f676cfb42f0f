import type { Socket, RemoteInfo } from "node:dgram";
import type { LookupAddress } from "node:dns";
import { type Packet, type Question, RECURSION_AVAILABLE, decode, encode } from "dns-packet";

/** Names that are looked up at once; more are not answered, and asked again by who wants them. */
const LOOKUPS_MAX = 32;
/**
 * Questions a second. A browser behind the forwarder hardly asks any. Who asks more has the browser in hand and means harm:
 * the resolver ends, and the slot has no names from then on, as it has none without a resolver.
 */
const QUESTIONS_MAX = 1_000;
const SECOND_MS = 1_000;
const TTL_S = 30;

// RCODE of RFC 1035.
const NO_SUCH_NAME = 3;
const NOT_SUPPORTED = 4;

/** The addresses that a name is known by in a slot; null when the slot's session may not know the name. */
export type NameLookup = (name: string) => Promise<LookupAddress[] | null>;

/**
 * The resolver inside a slot, for what goes around the forwarder: a context with the proxy `direct://`, or a program. A name
 * that the session may not reach does not exist. The addresses of others lead nowhere from there: a slot has no route.
 */
export class Resolver {
  readonly #socket: Socket;
  readonly #lookup: NameLookup;
  readonly #onFlood: () => void;
  #lookups = 0;
  #questions = 0;
  #secondEnds = 0;

  /** `socket`: bound in the network of the slot. `onFlood`: the resolver ends for too many questions. */
  constructor(socket: Socket, lookup: NameLookup, onFlood: () => void) {
    this.#socket = socket;
    this.#lookup = lookup;
    this.#onFlood = onFlood;
    socket.on("error", () => this.close());
    socket.on("message", (bytes, from) => void this.#take(bytes, from));
  }

  close(): void {
    this.#socket.removeAllListeners("message");
    try {
      this.#socket.close();
    } catch {
      // The socket is closed already.
    }
  }

  async #take(bytes: Buffer, from: RemoteInfo): Promise<void> {
    if (!this.#counts()) return this.#drown();
    const query = read(bytes);
    if (!query || this.#lookups >= LOOKUPS_MAX) return;
    this.#lookups += 1;
    try {
      const answer = await this.#answer(query);
      this.#socket.send(answer, from.port, from.address, () => {});
    } catch {
      // The slot ended meanwhile.
    } finally {
      this.#lookups -= 1;
    }
  }

  #drown(): void {
    this.close();
    this.#onFlood();
  }

  /** Whether this question is within the limit. */
  #counts(): boolean {
    const now = performance.now();
    if (now >= this.#secondEnds) {
      this.#secondEnds = now + SECOND_MS;
      this.#questions = 0;
    }
    this.#questions += 1;
    return this.#questions <= QUESTIONS_MAX;
  }

  async #answer({ packet, question }: Query): Promise<Buffer> {
    if (!question) return encode(replyTo(packet, NOT_SUPPORTED));
    const found = await this.#lookup(question.name);
    if (!found) return encode(replyTo(packet, NO_SUCH_NAME));
    const family = { A: 4, AAAA: 6 }[String(question.type)];
    const { name, type } = question;
    const answers = found
      .filter((one) => one.family === family)
      .map(({ address }) => ({
        name,
        type: type === "A" ? type : ("AAAA" as const),
        ttl: TTL_S,
        data: address,
      }));
    return encode({ ...replyTo(packet, 0), answers });
  }
}

interface Query {
  packet: Packet;
  /** Null: more than one question, or none. */
  question: Question | null;
}

function read(bytes: Buffer): Query | null {
  try {
    const packet = decode(bytes);
    if (packet.type === "response") return null;
    const { questions = [] } = packet;
    return { packet, question: questions.length === 1 ? (questions[0] ?? null) : null };
  } catch {
    return null;
  }
}

function replyTo({ id, flags = 0, questions = [] }: Packet, code: number): Packet {
  return {
    type: "response",
    ...(id !== undefined && { id }),
    flags: flags | RECURSION_AVAILABLE | code,
    questions,
  };
}

import { LAST_REQUEST_ID, readJson } from "@svc/contract/control-channel/messages.ts";
import * as z from "zod";
import type { Vm } from "../machines/vm.ts";

/** The use of a machine, as far as a control socket goes. */
export type UsedVm = Pick<Vm, "touch" | "begin" | "isParked">;

/** The fields of a message that the host looks at: not the parameters, which may be large. */
const Head = z.object({
  method: z.string().exactOptional(),
  id: z.int().min(0).max(LAST_REQUEST_ID).nullish(),
});
type Head = z.infer<typeof Head>;

/** Methods that only keep a socket open: no use of the machine. */
const UPKEEP = ["rpc.ping", "rpc.credit"];
/** Requests that stay open for as long as the client likes: only their bytes are a use. */
const LASTING = ["pty.attach", "files.watch"];
/** A client that has more requests open is in use by those that are counted. */
const MOST_COUNTED = 1_000;

/**
 * The requests of one control socket. A request is work in flight until it is answered, and messages of either side are
 * uses. Pings are neither: a parked machine is not woken for them, the host answers in its place.
 */
export class ControlCalls {
  readonly #vm: UsedVm;
  readonly #toClient: (text: string) => void;
  /** By the id of a request without an answer yet: the function that ends the use. */
  readonly #open = new Map<number, () => void>();
  readonly #pings = new Set<number>();
  /** Pings that the host has answered in place of a machine that has their messages and may answer them once it goes on. */
  readonly #answered = new Set<number>();

  constructor(vm: UsedVm, toClient: (text: string) => void) {
    this.#vm = vm;
    this.#toClient = toClient;
  }

  /** Takes a text of the client. False when the machine is not to have it. */
  fromClient(payload: Uint8Array): boolean {
    const { method = "", id } = headOf(payload);
    if (UPKEEP.includes(method)) return this.#isForGuest({ method, id });
    if (typeof id !== "number" || LASTING.includes(method)) this.#vm.touch();
    else this.#begin(id);
    return true;
  }

  /** Takes a text of the machine. False when the client has its answer already. */
  fromGuest(payload: Uint8Array): boolean {
    const { method, id } = headOf(payload);
    if (method !== undefined && !method.startsWith("rpc.")) this.#vm.touch();
    if (method !== undefined || typeof id !== "number") return true;
    if (this.#answered.delete(id)) return false;
    this.#pings.delete(id);
    this.#open.get(id)?.();
    this.#open.delete(id);
    return true;
  }

  /** The machine was parked: pings that it has not answered are answered here. */
  parked(): void {
    for (const id of this.#pings) {
      if (this.#answered.size < MOST_COUNTED) this.#answered.add(id);
      this.#pong(id);
    }
    this.#pings.clear();
  }

  /** The socket has ended, and nobody waits any more. */
  end(): void {
    for (const over of this.#open.values()) over();
    this.#open.clear();
  }

  #begin(id: number): void {
    // An id that is used again before its answer is one request.
    if (this.#open.has(id) || this.#open.size >= MOST_COUNTED) this.#vm.touch();
    else this.#open.set(id, this.#vm.begin());
  }

  #isForGuest({ method, id }: Head): boolean {
    if (method !== "rpc.ping" || typeof id !== "number") return true;
    if (this.#vm.isParked) {
      this.#pong(id);
      return false;
    }
    if (this.#pings.size < MOST_COUNTED) this.#pings.add(id);
    return true;
  }

  #pong(id: number): void {
    this.#toClient(JSON.stringify({ jsonrpc: "2.0", id, result: {} }));
  }
}

/** Requests that the host answers itself. */
const OF_HOST = "computer.";
/** Words about a request, whoever answers it. */
const OF_BOTH = ["rpc.credit", "rpc.cancel"];

/** Who is to have a text of a client. */
export function addresseeOf(payload: Uint8Array): "guest" | "host" | "both" {
  const { method = "" } = headOf(payload);
  if (method.startsWith(OF_HOST)) return "host";
  return OF_BOTH.includes(method) ? "both" : "guest";
}

/** Nothing of what is no message: the agent says so. */
const headOf = (payload: Uint8Array): Head => Head.safeParse(readJson(payload)).data ?? {};

import { BINARY_FRAME_BYTES } from "@svc/contract/control-channel/binary-frame.ts";
import { FRAME_PAYLOAD_BYTES, HOST_CONNECTION } from "@svc/contract/control-channel/frames.ts";
import type { Identity } from "@svc/contract/control-channel/identity.ts";
import type { Hello } from "@svc/contract/control-channel/methods.ts";
import { PROTOCOL } from "@svc/contract/control-channel/protocol.ts";
import { Overdue } from "@svc/contract/control-channel/overdue.ts";
import { type Method, type Methods, RpcServer } from "@svc/contract/control-channel/rpc-server.ts";
import { WINDOW_BYTES } from "@svc/contract/control-channel/stream.ts";
import type { Receiver, Wire } from "@svc/contract/control-channel/wire.ts";
import type { Gate } from "../identity/gate.ts";

/** Methods of customers and, apart, those that only the host may ask. */
export interface Served {
  customer: Record<string, Method>;
  host: Record<string, Method>;
  /** Answered before the machine has its identity. */
  first: Record<string, Method>;
}

/** Serves the connections of both ports. */
export class Reception {
  readonly #gate: Gate;
  readonly #customer: Methods;
  readonly #host: Methods;
  /** Counts the overdue methods of all customers together: a new connection of a customer starts no new count. The host's own connections count apart. */
  readonly #overdue = new Overdue();

  constructor(gate: Gate, { customer, host, first }: Served) {
    this.#gate = gate;
    const all = { ...customer, ...host };
    this.#customer = this.#behindGate(customer);
    this.#host = new Map([...this.#behindGate(all), ...Object.entries(first)]);
  }

  accept(connection: number, wire: Wire): Receiver {
    if (connection === HOST_CONNECTION) return new RpcServer(wire, this.#host);
    const server = new RpcServer(wire, this.#customer, { overdue: this.#overdue });
    const gone = new AbortController();
    this.#gate.passed(gone.signal).then(
      (identity) => server.notify("rpc.hello", hello(identity)),
      () => {},
    );
    return {
      text: (payload) => server.text(payload),
      binary: (message) => server.binary(message),
      closed: () => {
        gone.abort();
        server.closed();
      },
    };
  }

  #behindGate(methods: Record<string, Method>): Map<string, Method> {
    return new Map(
      Object.entries(methods).map(([name, { run, keepsTime = false }]) => {
        const behind: Method = {
          keepsTime,
          run: async (params, context) => {
            if (!this.#gate.identity) await this.#gate.passed(context.signal);
            return run(params, context);
          },
        };
        return [name, behind];
      }),
    );
  }
}

function hello({ kind, bootId }: Identity): Hello {
  const maxFrame = Math.max(FRAME_PAYLOAD_BYTES, BINARY_FRAME_BYTES);
  return { protocol: PROTOCOL, kind, bootId, window: WINDOW_BYTES, maxFrame };
}

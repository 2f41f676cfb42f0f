import { CHANNELS } from "@svc/contract/control-channel/binary-frame.ts";
import { COMPUTER_METHODS } from "@svc/contract/control-channel/computer-methods.ts";
import { method } from "@svc/contract/control-channel/method.ts";
import { RpcError, refuse } from "@svc/contract/control-channel/rpc-error.ts";
import type { Method, Methods } from "@svc/contract/control-channel/rpc-server.ts";
import type { Vm } from "../machines/vm.ts";
import { pointerOf } from "../machines/pointer.ts";
import { encode } from "../screen/encode.ts";
import type { Button, Hands, Point } from "../screen/hands.ts";
import type { Screen } from "../screen/screen.ts";

const DONE = { ok: true } as const;

/** What a desktop is here. */
type Desktop = Pick<Vm, "guest" | "pictures"> & { screen: Screen };

/** `computer.*` of one control socket: the host answers them itself. */
export class Computer {
  readonly methods: Methods;
  readonly #hands: Hands | null;
  /** Buttons that this socket has pressed and not let go of. */
  readonly #held = new Set<Button>();

  constructor(vm: Pick<Vm, "guest" | "screen" | "pictures">) {
    const { screen } = vm;
    this.#hands = screen && screen.hands;
    this.methods = new Map(
      Object.entries(screen ? this.#methodsOf({ ...desktopOf(vm), screen }) : none()).map(told),
    );
  }

  /** The socket has ended: no button stays down. */
  end(): void {
    for (const button of this.#held) void this.#hands?.press(button, false).catch(() => null);
    this.#held.clear();
  }

  #methodsOf(desktop: Desktop): Record<string, Method> {
    const { screen, guest } = desktop;
    const { hands } = screen;
    const press = async (button: Button, isDown: boolean) => {
      if (isDown) this.#held.add(button);
      else this.#held.delete(button);
      await hands.press(button, isDown);
      return DONE;
    };
    return {
      "computer.screen": method(COMPUTER_METHODS["computer.screen"], async () => {
        const client = await screen.client();
        await client.settle();
        return client.size;
      }),
      "computer.cursor": method(COMPUTER_METHODS["computer.cursor"], () => pointerOf(guest)),
      "computer.screenshot": screenshotMethod(desktop),
      "computer.move": method(COMPUTER_METHODS["computer.move"], async (to) => {
        await hands.move(to);
        return DONE;
      }),
      "computer.down": method(COMPUTER_METHODS["computer.down"], ({ button }) => press(button, true)),
      "computer.up": method(COMPUTER_METHODS["computer.up"], ({ button }) => press(button, false)),
      "computer.click": method(COMPUTER_METHODS["computer.click"], async ({ button, count, ...at }) => {
        await hands.click(button, count, placeOf(at));
        return DONE;
      }),
      "computer.drag": method(COMPUTER_METHODS["computer.drag"], async (asked, { signal }) => {
        const { fromX, fromY, toX, toY, button, durationMs } = asked;
        const [from, to] = [{ x: fromX, y: fromY }, { x: toX, y: toY }];
        await hands.drag(from, to, button, durationMs, signal);
        return DONE;
      }),
      "computer.scroll": method(COMPUTER_METHODS["computer.scroll"], async ({ dx, dy, ...at }) => {
        await hands.scroll(dx, dy, placeOf(at));
        return DONE;
      }),
      "computer.type": method(COMPUTER_METHODS["computer.type"], async (asked, { signal }) => {
        await hands.type(asked.text, asked.delayMs, signal);
        return DONE;
      }),
      "computer.key": method(COMPUTER_METHODS["computer.key"], async ({ key, repeat }, { signal }) => {
        await hands.key(key, repeat, signal);
        return DONE;
      }),
    };
  }
}

const desktopOf = ({ guest, pictures }: Pick<Vm, "guest" | "pictures">) => ({ guest, pictures });

function screenshotMethod({ screen, pictures }: Desktop): Method {
  return method(COMPUTER_METHODS["computer.screenshot"], async ({ cursor, ...wish }, { stream }) => {
    // A picture that waits to be read is held by the host.
    const taken = await pictures.with(async () => {
      const client = await screen.client();
      const made = await encode(await client.capture({ hasCursor: cursor }), wish);
      await stream.write(CHANNELS.output, made.bytes);
      stream.end(CHANNELS.output);
      return made;
    });
    if (!taken) throw refuse("Busy", "Too many pictures of this desktop are being taken.");
    return { width: taken.width, height: taken.height, format: wish.format };
  });
}

/** Both coordinates or none. */
function placeOf({ x, y }: { x?: number; y?: number }): Point | null {
  if (x === undefined && y === undefined) return null;
  if (x === undefined || y === undefined) throw missing(x === undefined ? "x" : "y");
  return { x, y };
}

function missing(field: string): RpcError {
  return new RpcError(-32_602, `${field}: is missing beside the other coordinate`, { field });
}

/** Of a sandbox. */
function none(): Record<string, Method> {
  const run = async (): Promise<never> => {
    throw refuse("DesktopOnly", "A sandbox has no screen: only desktops do.");
  };
  return Object.fromEntries(Object.keys(COMPUTER_METHODS).map((name) => [name, { run }]));
}

/** A screen that fails is one that comes back: its caller may try again. */
function told([name, { run }]: [string, Method]): [string, Method] {
  const tell = async (...asked: Parameters<typeof run>): Promise<object> => {
    try {
      return await run(...asked);
    } catch (error) {
      if (error instanceof RpcError || !(error instanceof Error) || error.name === "ZodError")
        throw error;
      throw refuse("Disconnected", `The screen did not do it: ${error.message}.`);
    }
  };
  return [name, { run: tell }];
}

import { CHANNELS } from "@svc/contract/control-channel/binary-frame.ts";
import { COMPUTER_METHODS } from "@svc/contract/control-channel/computer-methods.ts";
import { method } from "@svc/contract/control-channel/method.ts";
import { refuse } from "@svc/contract/control-channel/refusals.ts";
import { RPC_CODES, RpcError } from "@svc/contract/control-channel/rpc-error.ts";
import type { Method, Methods } from "@svc/contract/control-channel/rpc-server.ts";
import type { Vm } from "../machines/vm.ts";
import { pointerOf } from "../machines/pointer.ts";
import { encode } from "../screen/encode.ts";
import type { Hands } from "../screen/hands.ts";
import type { Point } from "../screen/path.ts";
import type { Screen } from "../screen/screen.ts";
import { desktopMethods } from "./desktop-methods.ts";

const DONE = { ok: true } as const;

/** Ways of a drag. */
interface Way {
  path?: Point[];
  fromX?: number;
  fromY?: number;
  toX?: number;
  toY?: number;
}

/** What a desktop is here. */
type Desktop = Pick<Vm, "guest" | "pictures"> & { screen: Screen };

/** `computer.*` of one control socket: the host answers them itself. */
export class Computer {
  readonly methods: Methods;
  readonly #hands: Hands | null;

  constructor(vm: Pick<Vm, "guest" | "screen" | "pictures">) {
    const { screen } = vm;
    this.#hands = screen && screen.hands;
    this.methods = new Map(
      Object.entries(screen ? this.#methodsOf({ ...desktopOf(vm), screen }) : none()).map(told),
    );
  }

  /** The socket has ended: each button that it holds goes up, at once or `holdMs` later. */
  end(): void {
    this.#hands?.left(this);
  }

  #methodsOf(desktop: Desktop): Record<string, Method> {
    const { hands } = desktop.screen;
    const { "computer.down": down, "computer.up": up } = COMPUTER_METHODS;
    return {
      ...lookMethods(desktop),
      ...mouseMethods(hands),
      ...keyMethods(hands),
      ...desktopMethods(desktop),
      "computer.down": method(down, ({ button, holdMs }) =>
        done(hands.hold(button, { by: this, holdMs })),
      ),
      "computer.up": method(up, ({ button }) => done(hands.letGo(button))),
    };
  }
}

const desktopOf = ({ guest, pictures }: Pick<Vm, "guest" | "pictures">) => ({ guest, pictures });

function lookMethods(desktop: Desktop): Record<string, Method> {
  const { screen, guest } = desktop;
  return {
    "computer.screen": method(COMPUTER_METHODS["computer.screen"], async () => {
      const client = await screen.client();
      await client.settle();
      return client.size;
    }),
    "computer.cursor": method(COMPUTER_METHODS["computer.cursor"], () => pointerOf(guest)),
    "computer.screenshot": screenshotMethod(desktop),
  };
}

function mouseMethods(hands: Hands): Record<string, Method> {
  const {
    "computer.move": move,
    "computer.click": click,
    "computer.drag": drag,
    "computer.scroll": scroll,
  } = COMPUTER_METHODS;
  return {
    "computer.move": method(move, (to) => done(hands.move(to))),
    "computer.click": method(click, async ({ button, count, ...at }) =>
      done(hands.click(button, count, placeOf(at))),
    ),
    "computer.drag": method(drag, async ({ button, durationMs, ...way }, { signal }) =>
      done(hands.drag(pathOf(way), { button, durationMs, signal })),
    ),
    "computer.scroll": method(scroll, async ({ dx, dy, ...at }) =>
      done(hands.scroll(dx, dy, placeOf(at))),
    ),
  };
}

function keyMethods(hands: Hands): Record<string, Method> {
  const { "computer.type": type, "computer.key": key } = COMPUTER_METHODS;
  return {
    "computer.type": method(type, ({ text, delayMs }, { signal }) =>
      done(hands.type(text, delayMs, signal)),
    ),
    "computer.key": method(key, async (asked, { signal }) =>
      done(hands.key(asked.key, asked.repeat, signal)),
    ),
  };
}

async function done(work: Promise<void>): Promise<typeof DONE> {
  await work;
  return DONE;
}

function screenshotMethod({ screen, pictures }: Desktop): Method {
  return method(COMPUTER_METHODS["computer.screenshot"], async (wish, { stream }) => {
    // A picture that waits to be read is held by the host.
    const taken = await pictures.with(async () => {
      const made = await encode(await screen.capture(), wish);
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

/** The path itself, or the line between two places. */
function pathOf({ path, ...line }: Way): Point[] {
  if (path && Object.keys(line).length > 0) throw wrong("path", "stands beside another way");
  if (path) return path;
  const { fromX = lacks("fromX"), fromY = lacks("fromY") } = line;
  const { toX = lacks("toX"), toY = lacks("toY") } = line;
  return [
    { x: fromX, y: fromY },
    { x: toX, y: toY },
  ];
}

function lacks(field: string): never {
  throw wrong(field, "is missing without a path");
}

function missing(field: string): RpcError {
  return wrong(field, "is missing beside the other coordinate");
}

function wrong(field: string, why: string): RpcError {
  return new RpcError(RPC_CODES.params, `${field}: ${why}`, { field });
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

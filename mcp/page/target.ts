import { ToolError } from "../tool.ts";
import type { Point } from "./pointer.ts";

interface Said {
  selector?: string | undefined;
  x?: number | undefined;
  y?: number | undefined;
}

/** The target of a call: an element or a point. */
export type Target = { selector: string } | Point;

/** `one`: exactly one of the two has to be said. `any`: also none, for what has the focus. */
export function targetOf(said: Said, how: "one"): Target;
export function targetOf(said: Said, how: "any"): Target | undefined;
export function targetOf({ selector, x, y }: Said, how: "one" | "any"): Target | undefined {
  const hasPoint = x !== undefined || y !== undefined;
  if (selector !== undefined && hasPoint)
    throw invalid("selector and x, y were both given: give only one of them");
  if (selector !== undefined) return { selector };
  if (x !== undefined && y !== undefined) return { x, y };
  if (hasPoint) throw invalid("x and y belong together: give both");
  if (how === "any") return undefined;
  throw invalid("neither selector nor x and y were given: give one of them");
}

const invalid = (reason: string): ToolError => new ToolError("ValidationError", `${reason}.`);

import type { VmKind } from "@svc/contract/vm/machine.ts";
import { BASE } from "./base.ts";
import { DESKTOP } from "./desktop.ts";
import type { Recipe } from "./recipe.ts";

/** Every image of a host, in the order in which they are built. */
export const RECIPES: readonly Recipe[] = [BASE, DESKTOP];

/** The kind of machine that an image makes. */
export const kindOfImage = ({ name }: { name: string }): VmKind =>
  name === DESKTOP.name ? "desktop" : "sandbox";

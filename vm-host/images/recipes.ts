import type { VmKind } from "@svc/contract/vm/machine.ts";
import { BASE } from "./base.ts";
import { CODE } from "./code.ts";
import { DESKTOP } from "./desktop.ts";
import { OFFICE } from "./office.ts";
import type { Recipe } from "./recipe.ts";

/** The images that a host builds by itself, in their order. */
export const RECIPES: readonly Recipe[] = [BASE, DESKTOP];

/** The images that a host builds once somebody asks for them. */
export const RECIPES_ON_USE: readonly Recipe[] = [OFFICE, CODE];

/** The kind of machine that an image makes. */
export const kindOfImage = ({ name }: { name: string }): VmKind =>
  name === BASE.name ? "sandbox" : "desktop";

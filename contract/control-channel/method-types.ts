import type * as z from "zod";
import type { Loose } from "../operations/routes.ts";
import type { METHODS } from "./methods.ts";

type Methods = typeof METHODS;

/** The name of a method of the customer's control channel. */
export type MethodName = keyof Methods;

/** Parameters of a method, as they are sent. */
export type Params<Name extends MethodName> = Loose<z.input<Methods[Name]["params"]>>;

/** The result of a method. */
export type Result<Name extends MethodName> = z.output<Methods[Name]["result"]>;

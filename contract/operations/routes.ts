import type { OPERATIONS, OperationName } from "./index.ts";
import type * as z from "zod";

type Operations = typeof OPERATIONS;
type RouteOf<Name extends OperationName> =
  `${Operations[Name]["method"]} ${Operations[Name]["path"]}`;
type ByRoute = { [Name in OperationName as RouteOf<Name>]: Operations[Name] };

/** Method and path of an operation of the contract: nothing else can be called. */
export type Route = keyof ByRoute;

/** Fields that may be left out may also be undefined: JSON has no such thing. */
export type Loose<Fields> = Fields extends unknown
  ? {
      [Name in keyof Fields]: {} extends Pick<Fields, Name>
        ? Fields[Name] | undefined
        : Fields[Name];
    }
  : never;

/** The JSON body that a route takes, as it is sent. */
export type Sent<R extends Route> = ByRoute[R] extends { request: infer Schema extends z.ZodType }
  ? Loose<z.input<Schema>>
  : never;

/** The JSON body that a route answers. */
export type Answered<R extends Route> = ByRoute[R]["success"]["body"] extends infer Schema extends
  z.ZodType
  ? z.output<Schema>
  : void;

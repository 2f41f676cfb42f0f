import { deleteLogin as remove } from "../../../control-plane/logins.ts";
import type { Handler } from "../../context.ts";
import { placeOf } from "./place.ts";

export const deleteLogin: Handler = async (c) => {
  await remove(c.env.DB, placeOf(c));
  return c.body(null, 204);
};

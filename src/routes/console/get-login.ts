import type { SavedLogin } from "@svc/contract/browser/login.ts";
import { readLogin } from "../../../control-plane/logins.ts";
import type { Handler } from "../../context.ts";
import { placeOf } from "./place.ts";

export const getLogin: Handler = async (c) =>
  c.json((await readLogin(c.env.DB, placeOf(c))) satisfies SavedLogin);

import { PutLogin, type SavedLogin } from "@svc/contract/browser/login.ts";
import { LoginVault } from "../../../control-plane/login-vault.ts";
import { putLogin as put } from "../../../control-plane/logins.ts";
import { parseBody } from "../../body.ts";
import type { Handler } from "../../context.ts";
import { newPlaceOf } from "./place.ts";

export const putLogin: Handler = async (c) => {
  const wanted = await parseBody(c, PutLogin);
  const vault = LoginVault.open(c.env.SVC_LOGIN_KEY);
  const saved = await put(c.env.DB, vault, newPlaceOf(c), wanted, Date.now());
  return c.json(saved satisfies SavedLogin);
};

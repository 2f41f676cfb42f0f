import type { Tool } from "../../tool.ts";
import { awaitLogin } from "./await-login.ts";
import { autologinSite } from "./autologin-site.ts";
import { autologinStatus } from "./autologin-status.ts";
import { login } from "./login.ts";

/** Tools that log in. */
export const loginTools: readonly Tool[] = [login, awaitLogin, autologinStatus, autologinSite];

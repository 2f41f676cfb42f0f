import { once } from "node:events";
import type { ToWatch } from "./crowd.ts";
import { Viewer } from "./viewer.ts";

// The process of a crowd (crowd.ts): watches until it is stopped, or its parent has gone.
const [{ url, key, viewers }] = (await once(process, "message")) as [ToWatch];
process.once("disconnect", () => process.exit());
const headers = { authorization: `Bearer ${key}` };
const all = await Promise.all(Array.from({ length: viewers }, () => Viewer.open(url, headers)));
await Promise.all(all.map((viewer) => viewer.next()));
console.log("watching");

import { Allowance } from "@svc/browser-pool/egress/allowance.ts";
import { Forwarder } from "@svc/browser-pool/egress/forwarder.ts";
import { HOME } from "./facts.ts";

// A forwarder alone, on a unix socket: argv holds its path and the port that it lets through.
const [, , path = "", port = ""] = process.argv;
const forwarder = new Forwarder(await Allowance.of([{ host: HOME, port: Number(port) }]));
await forwarder.listen(path);
forwarder.open();
process.on("disconnect", () => process.exit(0));
process.send?.({ type: "ready", url: "http://forwarder.invalid" });

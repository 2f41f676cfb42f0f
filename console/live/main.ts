import { LivePage } from "./live-page.ts";
import { takePass } from "./token.ts";
import { showOver } from "./view.ts";

// The same link, or a newer one, in the same tab: browsers load nothing for it.
addEventListener("hashchange", () => location.reload());

const pass = takePass();
if (pass) new LivePage(pass);
else showOver("expired");

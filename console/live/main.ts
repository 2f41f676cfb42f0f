import { LivePage } from "./live-page.ts";
import { takePass } from "./token.ts";
import { showOver } from "./view.ts";

const pass = takePass();
if (pass) new LivePage(pass);
else showOver("expired");

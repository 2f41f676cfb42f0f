import type { Tool } from "../../tool.ts";
import { browserClick } from "./click.ts";
import { browserClose } from "./close.ts";
import { browserCreate } from "./create.ts";
import { browserEvaluate } from "./evaluate.ts";
import { browserKey } from "./key.ts";
import { browserNavigate } from "./navigate.ts";
import { browserProfiles } from "./profiles.ts";
import { browserReadPage } from "./read-page.ts";
import { browserReplayUrl } from "./replay-url.ts";
import { browserSaveProfile } from "./save-profile.ts";
import { browserScreenshot } from "./screenshot.ts";
import { browserType } from "./type.ts";

/** Tools of browser sessions. */
export const browserTools: readonly Tool[] = [
  browserCreate,
  browserNavigate,
  browserReadPage,
  browserScreenshot,
  browserClick,
  browserType,
  browserKey,
  browserEvaluate,
  browserReplayUrl,
  browserSaveProfile,
  browserProfiles,
  browserClose,
];

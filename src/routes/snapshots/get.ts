import type { Handler } from "../../context.ts";
import { ownedSnapshot, recordOf } from "./record.ts";

export const getSnapshot: Handler = async (c) => c.json(recordOf(await ownedSnapshot(c)));

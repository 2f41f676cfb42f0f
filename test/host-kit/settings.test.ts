import { expect, test } from "vitest";
import * as z from "zod";
import { POOL_SETTINGS, readConfig as readPoolConfig } from "../../browser-pool/config.ts";
import { count } from "../../host-kit/host-settings.ts";
import {
  type SettingText,
  optionalSetting,
  readSettings,
  requiredSetting,
  setting,
} from "../../host-kit/settings.ts";
import { START_SETTINGS } from "../../scripts/start/settings.ts";
import { WORKER_SETTINGS } from "../../src/settings.ts";
import { HOST_TOKEN } from "../support/secrets.ts";
import { VM_HOST_SETTINGS, readConfig as readVmConfig } from "../../vm-host/config.ts";

const SETTINGS = {
  size: setting({ name: "SIZE", default: "3", unit: "MiB", meaning: "A size.", schema: count }),
  path: optionalSetting({
    name: "PATH",
    defaultMeaning: "found",
    meaning: "A path.",
    schema: z.string(),
  }),
  key: requiredSetting({ name: "KEY", meaning: "A key.", schema: z.string().min(3) }),
};
const REQUIRED = { SVC_GATEWAY_URL: "http://127.0.0.1:1", SVC_HOST_TOKEN: HOST_TOKEN };

test("variables become values, defaults and null", () => {
  expect(readSettings(SETTINGS, { KEY: "abc" })).toEqual({ size: 3, path: null, key: "abc" });
  const all = { SIZE: "7", PATH: "/x", KEY: "abc" };
  expect(readSettings(SETTINGS, all)).toEqual({ size: 7, path: "/x", key: "abc" });
});

test("an empty variable is an unset one", () => {
  const empty = { SIZE: "", PATH: "", KEY: "abc" };
  expect(readSettings(SETTINGS, empty)).toEqual({ size: 3, path: null, key: "abc" });
});

test("one error names every variable that cannot be read, without its value", () => {
  const read = () => readSettings(SETTINGS, { SIZE: "many", KEY: "q" });
  expect(read).toThrow(/^Set these variables.*\nSIZE: .*number.*\nKEY: /s);
  expect(read).not.toThrow(/many|q\b/);
  expect(() => readSettings(SETTINGS, {})).toThrow("KEY: is not set");
});

test("a pair that is no pair is named with its variable", () => {
  const environment = { ...REQUIRED, SVC_EGRESS_ALLOW: "127.0.0.1" };
  for (const read of [readPoolConfig, readVmConfig])
    expect(() => read(environment)).toThrow("SVC_EGRESS_ALLOW: 127.0.0.1 is not host:port");
});

test("both hosts read the same variables in the same way", () => {
  const common = {
    ...REQUIRED,
    SVC_STATE_DIR: "/s",
    SVC_EGRESS_ALLOW: "[::1]:80",
    SVC_STOP_MS: "",
  };
  const expected = {
    gatewayUrl: "http://127.0.0.1:1",
    hostToken: HOST_TOKEN,
    stateDir: "/s",
    egressAllow: [{ host: "::1", port: 80 }],
    stopMs: 8_000,
    listen: { host: "::", port: 9 },
    publicUrl: null,
    logLevel: "info",
  };
  expect(readPoolConfig({ ...common, SVC_POOL_LISTEN: "[::]:9" })).toMatchObject(expected);
  expect(readVmConfig({ ...common, SVC_VM_LISTEN: "[::]:9" })).toMatchObject(expected);
});

test("more warm browsers than browsers are as many as there are", () => {
  const { shelves } = readPoolConfig({
    ...REQUIRED,
    SVC_WARM_FAST: "9",
    SVC_MAX_FAST: "4",
    SVC_WARM_STEALTH: "3",
    SVC_MAX_STEALTH: "0",
  });
  expect(shelves).toEqual({ fast: { warm: 4, most: 4 }, stealth: { warm: 0, most: 0 } });
});

test("every variable has a name, a meaning and a sentence of it", () => {
  const hosts = [POOL_SETTINGS, VM_HOST_SETTINGS, START_SETTINGS].map((one) => Object.values(one));
  const rows: readonly SettingText[] = [...hosts.flat(), ...WORKER_SETTINGS];
  for (const { name, meaning } of rows) {
    expect(name).toMatch(/^SVC_[A-Z_]+$/);
    expect(meaning).toMatch(/^[A-Z`].*[.`]$/);
  }
});

test.each([
  ["a browser pool", readPoolConfig],
  ["a VM host", readVmConfig],
])("%s does not start with a short SVC_HOST_TOKEN, and says how to make a long one", (_, read) => {
  const short = { ...REQUIRED, SVC_HOST_TOKEN: "a".repeat(42) };
  expect(() => read(short)).toThrow(/SVC_HOST_TOKEN: must have at least 43 characters.*node -p "/);
  expect(read({ ...short, SVC_HOST_TOKEN: "a".repeat(43) }).hostToken).toHaveLength(43);
});

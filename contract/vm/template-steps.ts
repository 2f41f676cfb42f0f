import * as z from "zod";
import { LIMITS } from "../limits.ts";
import { Envs } from "./machine.ts";
import { TEMPLATE_LIMITS } from "./template-limits.ts";

const { commandCharacters, contentCharacters, packageCharacters, urlCharacters } = TEMPLATE_LIMITS;

const noNul = z.string().regex(/^[^\0]*$/, "has a NUL character");
const path = noNul
  .max(LIMITS.filePathCharacters)
  .regex(/^\//, "must be absolute")
  .refine((text) => !text.split("/").includes(".."), "has a .. segment");
const user = z.string().regex(/^[a-z_][a-z0-9_-]{0,31}$/, "is no name of a user");
const cmd = noNul.min(1).max(commandCharacters);

/** Names of packages: never an option of the program that installs them. */
const packages = (shape: RegExp) =>
  z
    .array(z.string().max(packageCharacters).regex(shape, "is no name of a package"))
    .min(1)
    .max(TEMPLATE_LIMITS.packages);

/** `curl`, `curl=7.88.1-10`, `libc6:amd64`, `curl/bookworm`. */
const AptPackages = packages(/^[a-z0-9][a-z0-9.+:~=/-]*$/i);
/** `numpy`, `numpy>=1.2,<2`, `uvicorn[standard]==0.30`. */
const PipPackages = packages(/^[a-z0-9][a-z0-9._-]*(\[[a-z0-9,._ -]+\])?[a-z0-9 .,<>=!~*+_-]*$/i);
/** `left-pad`, `@scope/name@^1.2.0`. */
const NpmPackages = packages(/^(@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*(@[^\s\0]+)?$/i);

const gitUrl = z
  .string()
  .max(urlCharacters)
  .regex(/^(https?|git|ssh):\/\/[^\s\0]+$/, "is no URL of a repository");

/** `u=rw` written in octal, as `chmod` takes it: 420 or "0644". */
const mode = z.union([
  z.int().min(0).max(0o7777),
  z
    .string()
    .regex(/^0?[0-7]{3,4}$/, "is no mode")
    .transform((text) => Number.parseInt(text, 8)),
]);

/** The steps of a build that a host runs. */
export const BuildStep = z.discriminatedUnion("type", [
  /** As root. */
  z.strictObject({ type: z.literal("apt"), packages: AptPackages }),
  z.strictObject({ type: z.literal("pip"), packages: PipPackages }),
  z.strictObject({
    type: z.literal("npm"),
    packages: NpmPackages,
    global: z.boolean().exactOptional(),
  }),
  /** A line of bash. */
  z.strictObject({ type: z.literal("run"), cmd, user: user.exactOptional() }),
  /** For the following steps, and for every command of machines made of the template. */
  z.strictObject({
    type: z.literal("env"),
    envs: Envs.refine((envs) => Object.keys(envs).length <= TEMPLATE_LIMITS.envs, "too many"),
  }),
  z.strictObject({ type: z.literal("workdir"), path }),
  z.strictObject({ type: z.literal("user"), name: user }),
  z.strictObject({
    type: z.literal("write"),
    path,
    content: z.string().max(contentCharacters),
    encoding: z.enum(["utf8", "base64"]).exactOptional(),
    mode: mode.exactOptional(),
  }),
  z.strictObject({
    type: z.literal("git"),
    url: gitUrl,
    ref: z
      .string()
      .max(200)
      .regex(/^[A-Za-z0-9][A-Za-z0-9._/-]*$/, "is no name of a revision")
      .exactOptional(),
    path,
  }),
]);
export type BuildStep = z.infer<typeof BuildStep>;

/** A step that needs files of the client's computer: refused with a code of its own. */
const CopyStep = z.strictObject({
  type: z.literal("copy"),
  src: z.string(),
  dest: z.string(),
  hash: z.string().exactOptional(),
});

/** A step of a build, in a request. */
export const TemplateStep = z.discriminatedUnion("type", [...BuildStep.options, CopyStep]);
export type TemplateStep = z.infer<typeof TemplateStep>;

/** A server that runs when the template is saved: machines made of the template answer at once. */
export const TemplateStart = z.strictObject({
  cmd,
  ready: z
    .strictObject({
      port: z.int().min(1).max(65_535).exactOptional(),
      url: z
        .url({ protocol: /^https?$/ })
        .max(urlCharacters)
        .exactOptional(),
      cmd: cmd.exactOptional(),
      timeoutMs: z.int().min(1000).max(TEMPLATE_LIMITS.readyMostMs).exactOptional(),
    })
    .refine(
      ({ port, url, cmd: line }) =>
        [port, url, line].filter((one) => one !== undefined).length === 1,
      "needs one of port, url, cmd",
    )
    .exactOptional(),
});
export type TemplateStart = z.infer<typeof TemplateStart>;

import * as z from "zod";

/**
 * An absolute path: no NUL, no `..`, at most 4096 characters (document 2, Limits). `\x80` to `\xff` stand for a byte that
 * is no UTF-8, `\x5c` for a backslash that would otherwise begin one of these (docs/CONTROL-CHANNEL.md, Names).
 */
export const GuestPath = z
  .string()
  .max(4096)
  .regex(/^\/[^\0]*$/, "is not absolute")
  .refine((path) => !path.split("/").includes(".."), "has a .. segment");

const count = z.int().nonnegative();
const timeoutMs = z.number().positive().exactOptional();
const ok = z.object({ ok: z.literal(true) });

/** A file, folder or link, as `files.stat` and `files.list` tell of it. */
export const Entry = z.object({
  name: z.string(),
  path: z.string(),
  type: z.enum(["file", "directory", "symlink", "other"]),
  size: count,
  /** Permission bits, as `chmod` takes them. */
  mode: count,
  mtime: z.iso.datetime(),
  owner: count,
  group: count,
  /** Where a symbolic link points. */
  target: z.string().exactOptional(),
});
export type Entry = z.infer<typeof Entry>;

/** A hit of `files.search`: a path, or a line in it. */
export const Match = z.object({
  path: z.string(),
  line: count.exactOptional(),
  column: count.exactOptional(),
  preview: z.string().exactOptional(),
});
export type Match = z.infer<typeof Match>;

/** `files.event` of a watch. A move out of what is watched is a `remove`, a move into it a `create`. */
export const FileEvent = z.object({
  id: count,
  type: z.enum(["create", "write", "remove", "rename", "chmod", "overflow"]),
  path: z.string(),
  /** Of a `rename`: the path before. What had the new one is gone. */
  from: z.string().exactOptional(),
});
export type FileEvent = z.infer<typeof FileEvent>;

/** The namespace `files` (control-channel.md, Methods). */
export const FILE_METHODS = {
  /** The bytes come on channel 1: as many as the file has when it is opened. `inode` tells one file of a name from the next. */
  "files.read": {
    params: z.object({
      path: GuestPath,
      offset: count.exactOptional(),
      length: count.exactOptional(),
      timeoutMs,
    }),
    result: z.object({
      size: count,
      bytes: count,
      mtime: z.iso.datetime(),
      inode: count.exactOptional(),
    }),
  },
  /** The bytes go on channel 0 until its end. Parents are created. A write that fails leaves the old content. */
  "files.write": {
    params: z.object({
      path: GuestPath,
      mode: z.int().min(0).max(0o7777).exactOptional(),
      append: z.boolean().exactOptional(),
      timeoutMs,
    }),
    result: z.object({ path: z.string(), bytes: count }),
  },
  "files.list": {
    params: z.object({
      path: GuestPath,
      depth: z.int().min(1).max(32).default(1),
      limit: z.int().min(1).max(10_000).default(1_000),
    }),
    result: z.object({ entries: z.array(Entry), truncated: z.boolean() }),
  },
  "files.stat": { params: z.object({ path: GuestPath }), result: Entry },
  /** Files whose path fits `glob` and, with `text` or `regex`, the lines in them that match. */
  "files.search": {
    params: z.object({
      path: GuestPath,
      glob: z.string().max(1_000).exactOptional(),
      text: z.string().min(1).max(1_000).exactOptional(),
      regex: z.string().min(1).max(1_000).exactOptional(),
      limit: z.int().min(1).max(10_000).default(200),
      timeoutMs,
    }),
    result: z.object({ matches: z.array(Match), truncated: z.boolean() }),
  },
  "files.mkdir": { params: z.object({ path: GuestPath }), result: ok },
  "files.move": {
    params: z.object({ from: GuestPath, to: GuestPath, overwrite: z.boolean().default(false) }),
    result: ok,
  },
  "files.remove": {
    params: z.object({ path: GuestPath, recursive: z.boolean().default(false) }),
    result: ok,
  },
  /** Runs until it is cancelled; `files.event` tells. */
  "files.watch": {
    params: z.object({ path: GuestPath, recursive: z.boolean().default(false), timeoutMs }),
    result: ok,
  },
} as const;

import { LIMITS } from "../limits.ts";
import { FileUploaded, SignedFileUrl } from "../vm/files.ts";
import type { Operation } from "./operation.ts";
import { RESUME_REFUSALS } from "./sandboxes.ts";

const mint = { auth: "key", bodyBytes: LIMITS.vmRequestBodyBytes } as const;
const path =
  "Absolute path in the guest, at most 4,096 characters, without a .. segment. \\xHH (80 to ff, 5c) stands for a byte that is no UTF-8 (docs/CONTROL-CHANNEL.md).";
const token = "The signed token: the only credential.";

const upload = {
  path: "/files/upload",
  auth: "fileUrl",
  bodyBytes: LIMITS.fileBodyBytes,
  isRaw: true,
  query: {
    token: { isRequired: true, description: token },
    path: { description: "Where to write, when the token names no path." },
  },
  success: { status: 200, body: FileUploaded },
  errors: [
    "InvalidFileToken",
    "ValidationError",
    "GuestRefused",
    "NotFound",
    "NotRunning",
    ...RESUME_REFUSALS,
    "HostUnreachable",
    "ObjectUnavailable",
  ],
} as const satisfies Partial<Operation>;

/** Document 2, files by signed URL. */
export const FILES = {
  fileDownloadUrl: {
    ...mint,
    method: "GET",
    path: "/sandboxes/:id/files/download-url",
    summary: "Sign a URL that fetches one file for 15 minutes.",
    query: { path: { isRequired: true, description: path } },
    success: { status: 200, body: SignedFileUrl },
    errors: ["ValidationError", "NotFound", "ObjectUnavailable"],
  },
  fileUploadUrl: {
    ...mint,
    method: "GET",
    path: "/sandboxes/:id/files/upload-url",
    summary: "Sign a URL that writes one file, or any file of the sandbox, for 15 minutes.",
    query: { path: { description: `${path} Without it the upload names one.` } },
    success: { status: 200, body: SignedFileUrl },
    errors: ["ValidationError", "NotFound", "ObjectUnavailable"],
  },
  downloadFile: {
    method: "GET",
    path: "/files/download",
    summary:
      "Fetch a file of a sandbox or of a browser session by a signed URL, or one range of it (206, or 416 with its size). HEAD tells its length. It counts as activity of a sandbox.",
    auth: "fileUrl",
    bodyBytes: LIMITS.vmRequestBodyBytes,
    query: { token: { isRequired: true, description: token } },
    success: { status: 200, body: null },
    errors: [
      "InvalidFileToken",
      "GuestRefused",
      "NotFound",
      "RangeNotSatisfiable",
      "NotRunning",
      "FileInProgress",
      "PayloadTooLarge",
      "SessionFilesFull",
      "InvalidSessionId",
      "PoolUnreachable",
      ...RESUME_REFUSALS,
      "HostUnreachable",
      "ObjectUnavailable",
    ],
  },
  uploadFile: {
    ...upload,
    method: "PUT",
    summary: "Write a file by a signed URL: raw bytes, folders are made. It counts as activity.",
  },
  uploadFileByPost: {
    ...upload,
    method: "POST",
    summary: "Write a file by a signed URL, as PUT does.",
  },
} as const satisfies Record<string, Operation>;

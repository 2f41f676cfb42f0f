import { expect, test } from "vitest";
import { oneTimeCode } from "../../../src/logins/totp.ts";

/** RFC 6238, appendix B: the ASCII secret 12345678901234567890; of its 8 digits the last 6. */
const SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

test.each([
  [59, "287082"],
  [1_111_111_109, "081804"],
  [1_111_111_111, "050471"],
  [1_234_567_890, "005924"],
  [2_000_000_000, "279037"],
  [20_000_000_000, "353130"],
])("at %i s the code is %s", async (seconds, code) => {
  expect(await oneTimeCode(SECRET, seconds * 1_000)).toBe(code);
});

test("a secret whose bits fill no whole byte is one all the same", async () => {
  expect(await oneTimeCode("JBSWY3DPEHPK3PXPJ", 0)).toBe(await oneTimeCode("JBSWY3DPEHPK3PXP", 0));
});

import { describe, expect, test } from "vitest";
import { headersForGateway, headersForGuest } from "../../../vm-host/server/port-headers.ts";

describe("a request for a port", () => {
  test("is given the customer's own words in place of the gateway's", () => {
    const raw = [
      ["Host", "10.0.0.1:9000"],
      ["Authorization", "Bearer gateway"],
      ["Accept-Encoding", "br, gzip"],
      ["Cache-Control", "no-cache"],
      ["CF-Worker", "svc.example"],
      ["X-Svc-Forward-Host", "l-80.p.test"],
      ["x-svc-forward-authorization", "Basic abc"],
      ["x-svc-forward-cookie", "forged=1"],
      ["x-svc-other", "1"],
      ["Cookie", "a=1"],
      ["X-Two", "1"],
      ["X-Two", "2"],
    ];
    expect(headersForGuest(raw.flat())).toEqual(
      [
        ["host", "l-80.p.test"],
        ["authorization", "Basic abc"],
        ["Cookie", "a=1"],
        ["X-Two", "1"],
        ["X-Two", "2"],
      ].flat(),
    );
  });

  test("keeps its host where none is forwarded, and no bearer", () => {
    expect(headersForGuest(["Host", "a", "Authorization", "Bearer x"])).toEqual(["Host", "a"]);
  });

  test("loses what is of its connection, by nature or by name, and keeps its framing", () => {
    const raw = ["Connection", "close, X-Hop", "X-Hop", "1", "TE", "trailers", "A", "b"];
    expect(headersForGuest(raw)).toEqual(["A", "b"]);
    expect(headersForGuest(["Transfer-Encoding", "chunked"])).toEqual([
      "transfer-encoding",
      "chunked",
    ]);
  });
});

test("an answer from inside is marked, and cannot mark itself", () => {
  const raw = ["X-Svc-Answer", "host", "Set-Cookie", "a=1", "Set-Cookie", "b=2", "Keep-Alive", "1"];
  expect(headersForGateway(raw)).toEqual([
    "Set-Cookie",
    "a=1",
    "Set-Cookie",
    "b=2",
    "x-svc-answer",
    "guest",
  ]);
});

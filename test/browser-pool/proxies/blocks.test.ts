import { expect, test } from "vitest";
import { blockIn, blockOfPage, mayBlock } from "../../../browser-pool/proxies/blocks.ts";

const answer = (status: number, headers: Record<string, string> = {}) => ({
  status,
  headers: new Map(Object.entries(headers)),
});

test.each([
  [403, {}, "status 403"],
  [429, {}, "status 429"],
  [503, { "retry-after": "1" }, "status 503"],
  [200, { "cf-mitigated": "challenge" }, "a challenge of Cloudflare"],
  [202, { "x-amzn-waf-action": "challenge" }, "a challenge of AWS WAF"],
  [405, { "x-amzn-waf-action": "captcha" }, "a challenge of AWS WAF"],
  [200, {}, null],
  [302, {}, null],
  [401, {}, null],
  [404, {}, null],
  [500, {}, null],
])("an answer of %i with %j is %s", (status, headers, reason) => {
  expect(blockIn(answer(status, headers))).toBe(reason);
});

const html = { "content-type": "text/html; charset=utf-8" };

test.each([
  [{ ...html, "content-length": "900" }, true],
  [{ ...html, "content-length": "900", "content-encoding": "gzip" }, true],
  [{ ...html, "content-length": "9000", "content-encoding": "gzip" }, false],
  [{ ...html, "content-length": "9", "content-encoding": "br" }, false],
  [{ ...html, "content-length": "9", "transfer-encoding": "chunked" }, false],
  [{ ...html, "content-length": "9000000" }, false],
  [{ ...html, "content-length": "nine" }, false],
  [html, false],
  [{ "content-type": "image/png", "content-length": "900" }, false],
])("the body of an answer with %j is read: %s", (headers, isRead) => {
  expect(mayBlock(answer(200, headers))).toBe(isRead);
});

test.each([
  ["<html><title>Just a moment...</title>", "a page of Cloudflare"],
  ['<iframe id="main-iframe" src="/_Incapsula_Resource?CWUDNSAI=9">', "a page of Imperva"],
  ['<title>Access Denied</title>… "https://errors.edgesuite.net/1.2"', "a page of Akamai"],
  ['<script src="https://ct.captcha-delivery.com/c.js">', "a page of DataDome"],
  ['<div id="px-captcha">', "a page of HUMAN"],
  // Sites that are protected and served have these.
  ['<script src="/_Incapsula_Resource?SWJIYLWA=7"></script><h1>shop</h1>', null],
  ["<title>Just a moment in history</title>", null],
  ["<title>Access Denied</title>", null],
])("the page %s is %s", (page, reason) => expect(blockOfPage(page)).toBe(reason));

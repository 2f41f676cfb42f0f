import { expect, test } from "vitest";
import { stepsOf } from "../../../vm-host/screen/path.ts";

const at = (x: number, y: number) => ({ x, y });

test("a line is passed in steps of one length, and ends where it should", () => {
  const steps = [...stepsOf([at(0, 0), at(100, 40)], 4)];
  expect(steps).toEqual([[at(25, 10)], [at(50, 20)], [at(75, 30)], [at(100, 40)]]);
});

test("every corner of a path is passed, however few steps there are", () => {
  const corners = [at(0, 0), at(10, 0), at(10, 10), at(0, 10), at(0, 0)];
  expect([...stepsOf(corners, 0)].flat()).toEqual(corners.slice(1));
  const passed = [...stepsOf(corners, 3)].flat();
  for (const corner of corners.slice(1)) expect(passed).toContainEqual(corner);
});

test("a path of one place stays there", () => {
  expect([...stepsOf([at(5, 5), at(5, 5), at(5, 5)], 2)].flat().at(-1)).toEqual(at(5, 5));
});

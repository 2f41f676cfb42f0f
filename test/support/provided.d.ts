import "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** POST here makes a fake pool and answers its URL. */
    fakePoolFarm: string;
  }
}

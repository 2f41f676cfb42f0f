export {};

// A pool whose clock its parent sets: a message is by how many milliseconds it goes ahead.
const real = Date.now.bind(Date);
let offset = 0;
Date.now = () => real() + offset;
process.on("message", (message) => {
  if (typeof message === "number") offset = message;
});
await import("../../browser-pool/main.ts");

export {};

export {};

// A pool whose clock its parent sets: a message is by how many milliseconds it goes ahead. It says once it does.
const real = Date.now.bind(Date);
let offset = 0;
Date.now = () => real() + offset;
process.on("message", (message) => {
  if (typeof message !== "number") return;
  offset = message;
  process.send?.({ type: "set" });
});
await import("../../browser-pool/main.ts");

export {};

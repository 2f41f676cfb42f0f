// Imported first by every child of the supervisor. Loading the rest takes a second: by then the channel may be
// closed already, and a listener that comes later would never hear of it.
if (process.connected === false) process.exit(0);
process.on("disconnect", () => process.exit(0));

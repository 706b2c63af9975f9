// Loaded into a process with --import: its wall clock is off by RDCP_CLOCK_OFFSET milliseconds, and set anew by a message
// that is a number.
const trueTime = Date.now;
let offset = Number(process.env.RDCP_CLOCK_OFFSET ?? 0);
Date.now = () => trueTime() + offset;
process.on('message', (message) => {
  if (typeof message === 'number') offset = message;
});
process.channel?.unref();

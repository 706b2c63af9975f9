// One shop of the fleet. The channel to the process that started it must not keep it alive when it closes.
process.once('SIGTERM', () => process.channel?.unref());
process.once('SIGINT', () => process.channel?.unref());
await import('../shop/main.ts');

export {};

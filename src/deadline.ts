/** Resolves when `work` has settled, or after `milliseconds` at the latest. Until then it keeps the process alive. */
export async function withDeadline(work: Promise<unknown>, milliseconds: number): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds);
  await Promise.race([work.catch(() => undefined), late]);
  clearTimeout(timer);
}
